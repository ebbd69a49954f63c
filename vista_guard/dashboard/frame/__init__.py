"""The frame around all pages. Its script has a folder of its own: Streamlit would take a folder `pages` beside it for its own."""
