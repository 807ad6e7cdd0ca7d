//! What a new session is told (A).
