"""`vista-guard reviews`: complaints come in, and what people decided goes out."""
