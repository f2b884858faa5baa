//! Generated envelope messages and the pairing of request with answer.
