//! A cage for shell commands, where the kernel has one.
