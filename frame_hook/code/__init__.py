"""What CPython keeps of code, and code that resumes a frame."""
