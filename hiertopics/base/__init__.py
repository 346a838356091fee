"""What knows nothing of topics: errors, arrays, files, text for eyes, seeds, progress, plug-ins."""
