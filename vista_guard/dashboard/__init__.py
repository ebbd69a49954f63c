"""The dashboard: stored reports to watch, to open and to explain. The only room that knows Streamlit. Needs the extra `dashboard`."""
