//! Whatever an application does, there is one outcome.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc;
use std::time::Duration;

use live::proxy::Outcome;
use live_http::{Asker, Question};

/// An application that does something with each connection. Returns its URL.
fn application(mut act: impl FnMut(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}/ask?a=b", listener.local_addr().expect("its address"));
    std::thread::spawn(move || listener.incoming().flatten().for_each(&mut act));
    url
}

/// Reads a request with a body of two bytes.
fn read(socket: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let mut byte = [0];
    while !text.ends_with(b"\r\n\r\n{}") && socket.read(&mut byte).expect("a request") == 1 {
        text.push(byte[0]);
    }
    String::from_utf8(text).expect("text")
}

fn ask(asker: &Asker, url: &str, timeout: Duration) -> Outcome {
    let (sender, receiver) = mpsc::channel();
    let question = Question {
        url: url.to_owned(),
        headers: vec![
            ("Content-Type".into(), "application/json".into()),
            ("X-Listed".into(), "yes".into()),
            ("Transfer-Encoding".into(), "chunked".into()),
        ],
        body: Some(b"{}".to_vec()),
        timeout,
        tls: None,
        answer_max: 100,
    };
    asker.ask(question, move |outcome| sender.send(outcome).expect("the test waits"));
    receiver.recv().expect("an outcome")
}

const LONG: Duration = Duration::from_secs(60);

fn answers(text: &'static str) -> Outcome {
    let url = application(move |mut socket| {
        read(&mut socket);
        socket.write_all(text.as_bytes()).expect("written");
        socket.shutdown(Shutdown::Both).ok();
    });
    ask(&Asker::new().expect("an asker"), &url, LONG)
}

#[test]
fn a_connection_is_used_again_and_the_request_is_whole() {
    let (sender, requests) = mpsc::channel();
    let url = application(move |mut socket| {
        let sender = sender.clone();
        std::thread::spawn(move || {
            for n in 0.. {
                let text = read(&mut socket);
                if text.is_empty() {
                    return;
                }
                sender.send((n, text)).expect("the test waits");
                socket
                    .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes")
                    .expect("written");
            }
        });
    });
    let asker = Asker::new().expect("an asker");
    for n in 0..3 {
        assert_eq!(ask(&asker, &url, LONG), Outcome::Answer(b"yes".to_vec()));
        let (nth, text) = requests.recv().expect("a request");
        assert_eq!(nth, n, "the connection is the same");
        let text = text.to_lowercase();
        assert!(text.starts_with("post /ask?a=b http/1.1\r\n"), "{text}");
        assert!(
            text.contains("content-length: 2\r\n") && text.contains("x-listed: yes\r\n"),
            "{text}"
        );
        assert!(!text.contains("transfer-encoding"), "{text}");
    }
}

#[test]
fn responses_that_are_none_are_failures() {
    let is_failure = |outcome: Outcome| matches!(outcome, Outcome::Failed(_));
    assert!(is_failure(answers("")), "closed at once");
    assert!(is_failure(answers("garbage\r\n\r\n")), "no HTTP");
    assert!(
        is_failure(answers("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nhalf")),
        "closed in the middle"
    );
    assert!(
        is_failure(answers("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n")),
        "too long by its head"
    );
    let long: &'static str =
        Box::leak(format!("HTTP/1.1 200 OK\r\n\r\n{}", "x".repeat(101)).into());
    assert!(is_failure(answers(long)), "too long by its body");
    assert_eq!(answers("HTTP/1.1 200 OK\r\n\r\n{}"), Outcome::Answer(b"{}".to_vec()));
    assert_eq!(answers("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n"), Outcome::Status(503));
    assert_eq!(
        answers("HTTP/1.1 302 Away\r\nLocation: /\r\nContent-Length: 0\r\n\r\n"),
        Outcome::Status(302)
    );
}

#[test]
fn nobody_there_and_nobody_who_answers_are_failures() {
    let asker = Asker::new().expect("an asker");
    let gone = TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("its address");
    assert!(matches!(ask(&asker, &format!("http://{gone}/"), LONG), Outcome::Failed(_)));
    assert!(matches!(ask(&asker, "http://", LONG), Outcome::Failed(_)));
    let mut kept = Vec::new();
    let silent = application(move |socket| kept.push(socket));
    let short = Duration::from_millis(20);
    assert_eq!(ask(&asker, &silent, short), Outcome::TimedOut(short));
}
