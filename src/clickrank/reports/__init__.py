"""What is shown to people: descriptions, tables, figures and pages."""
