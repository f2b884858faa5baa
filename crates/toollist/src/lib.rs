//! Which tools the host may see: a pure state machine.
