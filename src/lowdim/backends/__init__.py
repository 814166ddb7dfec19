"""Where kernels run. A method never branches on a backend; a primitive does, in one line."""
