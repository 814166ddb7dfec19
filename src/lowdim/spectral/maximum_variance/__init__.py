"""Maximum variance unfolding and its semidefinite programmes."""
