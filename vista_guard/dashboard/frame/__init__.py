"""The frame around all pages. In a folder of its own: beside the script that it runs Streamlit takes a folder `pages` for its own."""
