//! The conversation with one tool process: a sans-io connection and its driver.
