//! Memory bounds of `serve` under hostile input (P2, P4).
#![cfg(target_os = "linux")]

use crate::proxy_kit::{Serving, World};
use serde_json::json;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

const MEGABYTE: usize = 1 << 20;

/// The most memory that a process ever had, in megabytes.
fn peak(pid: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().trim_end_matches(" kB").trim().parse::<usize>().unwrap() / 1024
}

/// A provider that answers each request with one line of so many megabytes.
fn provider(line: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            std::thread::spawn(move || {
                let mut piece = [0; 65_536];
                let _ = stream.read(&mut piece);
                let head =
                    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: ";
                let _ = stream.write_all(head.as_bytes());
                for _ in 0..line {
                    let _ = stream.write_all(&vec![b'x'; MEGABYTE]);
                }
                let _ = stream.write_all(b"\n\n");
            });
        }
    });
    url
}

#[test]
fn p4_a_line_of_150_megabytes_takes_little_memory() {
    let world = World::new();
    let serving = Serving::before(&world, &provider(150), &[]);
    let (pid, address) = (serving.child.id(), serving.address());
    let before = peak(pid);
    let clients: Vec<_> = (0..4)
        .map(|n| {
            let host = address.strip_prefix("http://").unwrap().to_owned();
            std::thread::spawn(move || {
                let body = json!({"model": "claude-sonnet-4-5", "max_tokens": 20, "stream": true,
                    "messages": [{"role": "user", "content": format!("hello {n}")}],
                    "tools": [{"name": "Bash", "input_schema": {"type": "object"}}]})
                .to_string();
                let mut stream = TcpStream::connect(&host).unwrap();
                let length = body.len();
                write!(stream, "POST /v1/messages HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}")
                    .unwrap();
                std::io::copy(&mut stream, &mut std::io::sink()).unwrap()
            })
        })
        .collect();
    for client in clients {
        assert!(client.join().unwrap() > 150 * MEGABYTE as u64, "the client gets all of it");
    }
    let grown = peak(pid) - before;
    assert!(grown < 250, "{grown} MB more for four of them, {before} MB before");
}

#[test]
fn p2_stalled_bodies_take_no_more_than_the_bound() {
    let world = World::new();
    let serving = Serving::before(&world, &provider(0), &[]);
    let (pid, address) = (serving.child.id(), serving.address());
    let before = peak(pid);
    let host = address.strip_prefix("http://").unwrap();
    let stalled: Vec<TcpStream> = (0..8)
        .map(|_| {
            let mut stream = TcpStream::connect(host).unwrap();
            let length = 60 * MEGABYTE;
            write!(stream, "POST /v1/messages HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\n\r\n")
                .unwrap();
            for _ in 0..59 {
                stream.write_all(&vec![b' '; MEGABYTE]).unwrap();
            }
            stream
        })
        .collect();
    let grown = peak(pid) - before;
    assert!(grown < 300, "{grown} MB more, {before} MB before");
    drop(stalled);
}
