"""What people look at: a tree as text, a page or a file for other tools."""
