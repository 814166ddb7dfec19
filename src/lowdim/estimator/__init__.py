"""The contract of the estimators: one driver, and functions that methods share; no algorithm.

What the class of a method is made of is imported from here.
"""

from lowdim.estimator.declarations import Iterative as Iterative
from lowdim.estimator.declarations import Traits as Traits
from lowdim.estimator.declarations import declare_parameters as declare_parameters
from lowdim.estimator.embedder import Embedder as Embedder
from lowdim.estimator.footprint import Problem as Problem
