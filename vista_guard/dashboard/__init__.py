"""The dashboard: stored reports to watch, to open and to explain. Alone in knowing Streamlit. Needs the extra `dashboard`."""
