"""Ways to the data of a fit: from a file or an object, checked, and back into a file."""
