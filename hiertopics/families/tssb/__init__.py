"""Tree-structured stick breaking: data that live at any node of a tree without bounds."""
