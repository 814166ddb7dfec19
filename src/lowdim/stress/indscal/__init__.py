"""INDSCAL: individual differences scaling."""
