//! Files of our own: what earlier runs saw, and later what was done.
