//! Sealed tokens.
