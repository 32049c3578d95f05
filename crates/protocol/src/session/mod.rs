//! Session machines for pipes: ids, pending exchanges, timeouts, cancellation. No IO, no clock.
