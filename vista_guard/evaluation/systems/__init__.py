"""What is compared: a guard, its ablations, and the methods it is measured against, all behind one seam."""
