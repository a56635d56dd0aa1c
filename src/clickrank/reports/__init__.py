"""Reports: HTML pages from templates, tables of text, and descriptions of policies and models."""
