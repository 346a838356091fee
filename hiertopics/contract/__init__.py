"""What a backend is: its record of functions, its states, where it runs, the table of backends."""
