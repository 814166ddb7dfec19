"""Neural networks by PyTorch: layers, training and storage of weights. Needs the extra `torch`.

Only `device` can be imported without PyTorch; methods import the other modules when they fit.
"""
