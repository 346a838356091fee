"""The foundation: errors, arrays, files, safe text, seeds, progress and plug-ins."""
