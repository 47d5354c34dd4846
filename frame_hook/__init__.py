"""The CPython side: the frame-evaluation hook, the symbolic interpreter, guards, and the code that resumes a frame."""
