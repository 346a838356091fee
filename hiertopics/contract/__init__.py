"""The contract of a backend: its functions, its states, the engines, the table of backends."""
