"""What we keep of the relations: Gram and kernel matrices, Laplacians, reconstruction weights."""
