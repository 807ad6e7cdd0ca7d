//! The stages of the pipeline, P1 to P4.

mod any_order;
mod budget;
mod collapse;
mod kit;
mod microcompact;
mod snip;
mod unseen;
