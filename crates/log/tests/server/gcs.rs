//! As much of Google Cloud Storage as topics need, after the reference of its XML API
//! (<https://cloud.google.com/storage/docs/xml-api/reference-headers>), in this process and in memory.
//!
//! It is ours because none that could be installed will do: fake-gcs-server 1.56 refuses an XML API's put
//! ("invalid uploadType"), and others know the JSON API alone. What it says about Google's own service is
//! how far our client and the reference agree, no more.

use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

/// What a client must show.
pub const TOKEN: &str = "apus-test-token";
/// Names in an answer to a listing: few, so that there are several.
const PAGE: usize = 50;
/// The only date there is; no client checks it.
const DATES: [&str; 2] = ["Sat, 21 Nov 2026 12:00:00 GMT", "2026-11-21T12:00:00Z"];

struct Object {
    generation: u64,
    /// `x-goog-meta-…`.
    meta: Vec<(String, String)>,
    bytes: Vec<u8>,
}

#[derive(Default)]
struct Bucket {
    objects: BTreeMap<String, Object>,
    generations: u64,
}

struct Request {
    method: String,
    path: String,
    query: HashMap<String, String>,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

#[derive(Default)]
struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// Serves the bucket of that name as long as the process lives.
pub fn serve(bucket: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = listener.local_addr().expect("its address");
    let kept = Arc::new(Mutex::new(Bucket::default()));
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let kept = Arc::clone(&kept);
            // A client that goes ends its connection; nothing else is expected to.
            thread::spawn(move || connection(&stream, bucket, &kept));
        }
    });
    address
}

fn connection(stream: &TcpStream, bucket: &str, kept: &Mutex<Bucket>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let (mut from, mut to) = (BufReader::new(stream), stream);
    while let Some(request) = read(&mut from)? {
        let answer = answer(&request, bucket, kept);
        let length = match answer.headers.iter().find(|(k, _)| k == "length") {
            Some((_, length)) => length.clone(),
            None => answer.body.len().to_string(),
        };
        let mut head = format!("HTTP/1.1 {} -\r\nContent-Length: {length}\r\n", answer.status);
        for (k, v) in answer.headers.iter().filter(|(k, _)| k != "length") {
            head.push_str(&format!("{k}: {v}\r\n"));
        }
        to.write_all(format!("{head}\r\n").as_bytes())?;
        to.write_all(&answer.body)?;
    }
    Ok(())
}

fn read(from: &mut BufReader<&TcpStream>) -> io::Result<Option<Request>> {
    let mut line = String::new();
    if from.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split(' ').map(str::to_owned);
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let query = query.split('&').filter_map(|pair| pair.split_once('='));
    let mut request = Request {
        method,
        path: unescape(path),
        query: query.map(|(k, v)| (unescape(k), unescape(&v.replace('+', " ")))).collect(),
        headers: HashMap::new(),
        body: Vec::new(),
    };
    loop {
        line.clear();
        from.read_line(&mut line)?;
        let Some((k, v)) = line.trim_end().split_once(':') else { break };
        request.headers.insert(k.to_ascii_lowercase(), v.trim().to_owned());
    }
    let length = request.headers.get("content-length").and_then(|n| n.parse().ok());
    request.body = vec![0; length.unwrap_or(0)];
    from.read_exact(&mut request.body)?;
    Ok(Some(request))
}

fn unescape(text: &str) -> String {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, more)) = rest.split_first() {
        let hex = more.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()).filter(|_| *first == b'%') {
            Some(byte) => (bytes.push(byte), rest = &more[2..]).1,
            None => (bytes.push(*first), rest = more).1,
        }
    }
    String::from_utf8(bytes).expect("UTF-8")
}

fn answer(request: &Request, bucket: &str, kept: &Mutex<Bucket>) -> Answer {
    let status = |status| Answer { status, ..Answer::default() };
    let bearer = format!("Bearer {TOKEN}");
    if request.headers.get("authorization") != Some(&bearer) {
        return status(401);
    }
    let Some(rest) = request.path.strip_prefix('/').and_then(|p| p.strip_prefix(bucket)) else {
        return status(404);
    };
    let mut kept = kept.lock().expect("nobody panics");
    let name = rest.trim_start_matches('/');
    match (request.method.as_str(), name) {
        ("GET", "") => list(request, &kept),
        ("GET" | "HEAD", name) => match kept.objects.get(name) {
            Some(object) => get(request, object),
            None => status(404),
        },
        ("PUT", name) => put(request, name, &mut kept),
        ("DELETE", name) => status(if kept.objects.remove(name).is_some() { 204 } else { 404 }),
        _ => status(405),
    }
}

fn named(object: &Object) -> Vec<(String, String)> {
    let generation = object.generation.to_string();
    vec![("ETag".into(), format!("\"{generation}\"")), ("x-goog-generation".into(), generation)]
}

fn put(request: &Request, name: &str, kept: &mut Bucket) -> Answer {
    let now = kept.objects.get(name).map_or(0, |o| o.generation);
    let wanted = request.headers.get("x-goog-if-generation-match");
    if wanted.is_some_and(|n| n.parse() != Ok(now)) {
        return Answer { status: 412, ..Answer::default() };
    }
    kept.generations += 1;
    let meta = request.headers.iter().filter(|(k, _)| k.starts_with("x-goog-meta-"));
    let object = Object {
        generation: kept.generations,
        meta: meta.map(|(k, v)| (k.clone(), v.clone())).collect(),
        bytes: request.body.clone(),
    };
    let headers = named(&object);
    kept.objects.insert(name.to_owned(), object);
    Answer { status: 200, headers, ..Answer::default() }
}

fn get(request: &Request, object: &Object) -> Answer {
    let mut headers = named(object);
    headers.push(("Last-Modified".into(), DATES[0].into()));
    headers.extend(object.meta.clone());
    if request.method == "HEAD" {
        headers.push(("length".into(), object.bytes.len().to_string()));
        return Answer { status: 200, headers, ..Answer::default() };
    }
    let Some(range) = request.headers.get("range") else {
        return Answer { status: 200, headers, body: object.bytes.clone() };
    };
    let (from, to) = range.trim_start_matches("bytes=").split_once('-').expect("a range");
    let (from, size) = (from.parse::<usize>().expect("a number"), object.bytes.len());
    let end = to.parse::<usize>().map_or(size, |last| size.min(last + 1));
    if from >= size {
        return Answer { status: 416, ..Answer::default() };
    }
    headers.push(("Content-Range".into(), format!("bytes {from}-{}/{size}", end - 1)));
    Answer { status: 206, headers, body: object.bytes[from..end].to_vec() }
}

fn list(request: &Request, kept: &Bucket) -> Answer {
    let said = |name: &str| request.query.get(name).map_or("", String::as_str);
    let after = said("start-after").max(said("continuation-token"));
    let most = said("max-keys").parse().map_or(PAGE, |n: usize| n.min(PAGE));
    let wanted = |name: &&String| name.starts_with(said("prefix")) && name.as_str() > after;
    let names: Vec<_> = kept.objects.keys().filter(wanted).take(most + 1).collect();
    let mut xml = "<?xml version='1.0' encoding='UTF-8'?><ListBucketResult>".to_owned();
    for name in names.iter().take(most) {
        let (size, date) = (kept.objects[*name].bytes.len(), DATES[1]);
        xml.push_str(&format!(
            "<Contents><Key>{name}</Key><Size>{size}</Size><LastModified>{date}</LastModified>\
             <ETag>\"x\"</ETag></Contents>"
        ));
    }
    if names.len() > most {
        let last = names[most - 1];
        xml.push_str(&format!("<NextContinuationToken>{last}</NextContinuationToken>"));
    }
    xml.push_str("</ListBucketResult>");
    Answer { status: 200, body: xml.into_bytes(), ..Answer::default() }
}
