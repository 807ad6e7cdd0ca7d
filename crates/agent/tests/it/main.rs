//! The agent and its parts, over real files, real processes and real sockets.
