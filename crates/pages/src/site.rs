//! A site: files by their paths, templates, and routes, all of one moment.
//!
//! ```text
//!  routes          which request is answered by what        routes.rs
//!  templates/…     templates, by their paths below this
//!  public/…        files that are served as they are, below /
//!  functions/…     libraries of functions (`.lua`), which the server loads
//! ```
//!
//! A directory that has none of these three is served as it is. Names that begin with a dot are left out, and
//! so are links that lead out of the directory. A site that is read again keeps the last good version of a
//! template or a routes file that has an error now.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use std::{fs, io};

use http1::conditional::date;
use http1::response::field;
use template::Engine;

use crate::Store;
use crate::content::Content;
use crate::routes::Routes;
pub use crate::tag::tag;
use crate::template::{Asked, Rendered};

/// Bytes of one file, which is kept in memory.
pub const FILE_MAX: u64 = 64 << 20;
/// Bytes of all files of a site.
pub const SITE_MAX: u64 = 256 << 20;
/// Files of a site.
pub const FILES_MAX: usize = 100_000;
/// How deep its directories are.
const DEPTH_MAX: usize = 32;
/// Bytes of a template.
const TEMPLATE_MAX: usize = 256 << 10;

/// A file of a site's source.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its path below the site's directory, with slashes.
    pub path: String,
    /// Its content.
    pub bytes: Arc<Vec<u8>>,
    /// When it was changed, in seconds of Unix time.
    pub modified: u64,
    /// It is from a key, which does not know when it was changed: `modified` is when it was read.
    pub is_in_key: bool,
}

/// A file that is served as it is.
#[derive(Debug)]
pub struct File {
    /// Its body and fields.
    pub content: Arc<Content>,
    /// Its type.
    pub content_type: &'static str,
    /// When it was changed, in seconds of Unix time.
    pub modified: u64,
}

impl File {
    /// Its bytes.
    #[must_use]
    pub fn body(&self) -> &Arc<Vec<u8>> {
        &self.content.plain().body
    }
}

/// See the module's text.
pub struct Site {
    engine: Engine,
    routes: Routes,
    routes_text: String,
    routes_in_key: bool,
    files: HashMap<String, File>,
    templates: HashMap<String, String>,
    /// Distinguishes it from the sites before it.
    pub number: u64,
}

impl Site {
    /// A site with nothing.
    #[must_use]
    pub fn empty() -> Self {
        Self::new(Vec::new(), &[], None).0
    }

    /// Makes a site of its files. `commands` are the names of the commands that templates may call. Errors are
    /// told of with file and line; what they concern is as in the site `before`, or missing.
    #[must_use]
    pub fn new(
        sources: Vec<Source>,
        commands: &[&'static str],
        before: Option<&Self>,
    ) -> (Self, Vec<String>) {
        let has = |start: &str| sources.iter().any(|s| s.path.starts_with(start));
        let plain = !has("templates/")
            && !has("public/")
            && !sources.iter().any(|source| source.path == "routes");
        let mut site = Self {
            engine: crate::template::engine(commands),
            routes: Routes::default(),
            routes_text: String::new(),
            routes_in_key: false,
            files: HashMap::new(),
            templates: HashMap::new(),
            number: before.map_or(1, |site| site.number + 1),
        };
        let mut errors = Vec::new();
        for source in sources {
            let path = source.path.as_str();
            if let Some(name) = path.strip_prefix("templates/") {
                site.add_template(name, path, &source.bytes, before, &mut errors);
            } else if let Some(name) = path.strip_prefix("public/") {
                site.add_file(name, &source, before);
            } else if path == "routes" {
                site.add_routes(&source, before, &mut errors);
            } else if plain {
                site.add_file(path, &source, before);
            }
        }
        (site, errors)
    }

    fn add_file(&mut self, name: &str, source: &Source, before: Option<&Self>) {
        let path = format!("/{name}");
        let etag = tag(&source.bytes);
        let mut modified = source.modified;
        // What has the same content as before was not changed, and its compressed forms stay.
        if let Some(old) = before.and_then(|site| site.files.get(&path))
            && old.content.plain().etag == etag
        {
            if source.is_in_key {
                modified = old.modified;
            }
            if modified == old.modified {
                let content = Arc::clone(&old.content);
                self.files.insert(path, File { content, ..*old });
                return;
            }
        }
        self.files.insert(path, file(name, &etag, Arc::clone(&source.bytes), modified));
    }

    fn add_template(
        &mut self,
        name: &str,
        path: &str,
        bytes: &[u8],
        before: Option<&Self>,
        errors: &mut Vec<String>,
    ) {
        let added = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned());
        let added = added.map(str::to_owned).and_then(|text| {
            if text.len() > TEMPLATE_MAX {
                return Err(format!("a template has {TEMPLATE_MAX} bytes at most"));
            }
            self.engine.add(name, &text).map_err(|e| e.to_string()).map(|()| text)
        });
        match added {
            Ok(text) => drop(self.templates.insert(name.to_owned(), text)),
            Err(why) => {
                errors.push(format!("{path}: {why}"));
                let Some(text) = before.and_then(|site| site.templates.get(name)) else { return };
                // It was a good one before.
                if self.engine.add(name, text).is_ok() {
                    self.templates.insert(name.to_owned(), text.clone());
                }
            }
        }
    }

    fn add_routes(&mut self, source: &Source, before: Option<&Self>, errors: &mut Vec<String>) {
        let text = String::from_utf8_lossy(&source.bytes).into_owned();
        let (routes, wrong) = Routes::parse(&text);
        let good = wrong.is_empty();
        errors.extend(wrong.into_iter().map(|why| format!("routes: {why}")));
        (self.routes, self.routes_text, self.routes_in_key) = match before {
            Some(before) if !good && !before.routes.is_empty() => {
                let text = before.routes_text.clone();
                (Routes::parse(&text).0, text, before.routes_in_key)
            }
            _ => (routes, text, source.is_in_key),
        };
    }

    /// Renders the template with this name.
    ///
    /// # Errors
    /// A text for the log, with file, line and column.
    pub fn render(
        &self,
        name: &str,
        asked: &Asked<'_>,
        store: &mut dyn Store,
    ) -> Result<Rendered, String> {
        crate::template::render(&self.engine, name, asked, store)
    }

    /// Its routes.
    #[must_use]
    pub fn routes(&self) -> &Routes {
        &self.routes
    }

    /// Whether the routes are from a key: users who may write it must not get the rights of other users by them.
    #[must_use]
    pub fn has_routes_in_key(&self) -> bool {
        self.routes_in_key
    }

    /// What is wrong with the site besides what [`Self::new`] tells: routes whose templates are not there.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        let named = self.routes.templates().iter();
        let missing = named.filter(|(_, name)| !self.has_template(name));
        missing.map(|(at, name)| format!("routes: {at}: there is no template '{name}'")).collect()
    }

    /// The file for a decoded path; for one that ends with a slash, the `index.html` there.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<&File> {
        if path.ends_with('/') {
            return self.files.get(&format!("{path}index.html"));
        }
        self.files.get(path)
    }

    /// Whether a path without a slash at its end is a directory with an `index.html`.
    #[must_use]
    pub fn is_directory(&self, path: &str) -> bool {
        self.files.contains_key(&format!("{path}/index.html"))
    }

    /// Whether there is a template with this name.
    #[must_use]
    pub fn has_template(&self, name: &str) -> bool {
        self.templates.contains_key(name)
    }

    /// Templates, routes and files that it has.
    #[must_use]
    pub fn counts(&self) -> (usize, usize, usize) {
        (self.templates.len(), self.routes.len(), self.files.len())
    }
}

fn file(name: &str, etag: &str, bytes: Arc<Vec<u8>>, modified: u64) -> File {
    let content_type = http1::mime::of(name);
    let mut common = Vec::with_capacity(200);
    field(&mut common, "Content-Type", content_type);
    field(&mut common, "Last-Modified", &date(modified));
    field(&mut common, "X-Content-Type-Options", "nosniff");
    field(&mut common, "Cache-Control", "no-cache");
    field(&mut common, "Accept-Ranges", "bytes");
    let content = Arc::new(Content::new(content_type, etag.to_owned(), common, bytes));
    File { content, content_type, modified }
}

/// Whether this may be the path of a site's file: segments with slashes between them, none of which is empty or
/// begins with a dot. So it leads out of no directory.
#[must_use]
pub fn is_path(path: &str) -> bool {
    let fits = |s: &str| !s.is_empty() && !s.starts_with('.') && !s.contains(['\\', '\0']);
    path.len() < 4096 && path.split('/').count() <= DEPTH_MAX && path.split('/').all(fits)
}

/// Whether this is the path of a library of functions, which the server is to have.
#[must_use]
pub fn is_library(path: &str) -> bool {
    path.starts_with("functions/") && path.ends_with(".lua")
}

/// One site of two: the files of `over` come before those of `base` with the same paths.
#[must_use]
pub fn merged(base: &[Source], over: &[Source]) -> Vec<Source> {
    let all = base.iter().chain(over).map(|source| (source.path.as_str(), source));
    all.collect::<BTreeMap<_, _>>().into_values().cloned().collect()
}

/// Reads the files of a site below a directory, by their paths.
///
/// # Errors
/// The directory cannot be read, or has too many or too large files; the text names the path.
pub fn read_dir(root: &Path) -> io::Result<Vec<Source>> {
    let root = root.canonicalize().map_err(|e| named(root, &e))?;
    let mut walk = Walk { root: root.clone(), sources: Vec::new(), bytes: 0 };
    walk.enter(&root, "", 0)?;
    walk.sources.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(walk.sources)
}

fn named(path: &Path, e: &io::Error) -> io::Error {
    io::Error::new(e.kind(), format!("{}: {e}", path.display()))
}

struct Walk {
    root: std::path::PathBuf,
    sources: Vec<Source>,
    bytes: u64,
}

impl Walk {
    fn enter(&mut self, dir: &Path, prefix: &str, depth: usize) -> io::Result<()> {
        if depth > DEPTH_MAX {
            return Err(io::Error::other(format!("{}: too deep", dir.display())));
        }
        for entry in fs::read_dir(dir).map_err(|e| named(dir, &e))? {
            let entry = entry.map_err(|e| named(dir, &e))?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            if name.starts_with('.') || name.contains('\\') {
                continue;
            }
            // A link is followed where it stays inside. One that leads nowhere is left out.
            let Ok(path) = entry.path().canonicalize() else { continue };
            if !path.starts_with(&self.root) {
                continue;
            }
            let Ok(meta) = fs::metadata(&path) else { continue };
            let below = format!("{prefix}{name}");
            if meta.is_dir() {
                self.enter(&path, &format!("{below}/"), depth + 1)?;
            } else if meta.is_file() {
                self.add(&path, below, &meta)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, path: &Path, below: String, meta: &fs::Metadata) -> io::Result<()> {
        let modified = meta.modified().ok();
        let modified = modified.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
        let modified = modified.map_or(0, |since| since.as_secs());
        self.bytes += meta.len();
        if meta.len() > FILE_MAX || self.bytes > SITE_MAX || self.sources.len() >= FILES_MAX {
            return Err(io::Error::other(format!(
                "{}: a site has {FILES_MAX} files at most, of {FILE_MAX} bytes each and {SITE_MAX} in total",
                path.display()
            )));
        }
        // It may be gone by now.
        if let Ok(bytes) = fs::read(path) {
            let bytes = Arc::new(bytes);
            self.sources.push(Source { path: below, bytes, modified, is_in_key: false });
        }
        Ok(())
    }
}

/// Something that changes when a file below a directory changes: paths, sizes and times, as a hash.
///
/// # Errors
/// The directory cannot be read.
pub fn fingerprint(root: &Path) -> io::Result<u64> {
    fn enter(dir: &Path, text: &mut Vec<u8>, depth: usize) -> io::Result<()> {
        for entry in fs::read_dir(dir)? {
            let entry = entry?;
            let Ok(meta) = fs::metadata(entry.path()) else { continue };
            text.extend_from_slice(entry.path().as_os_str().as_encoded_bytes());
            let at = meta.modified().ok();
            let at = at.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok());
            text.extend_from_slice(&at.map_or(0, |at| at.as_nanos()).to_le_bytes());
            text.extend_from_slice(&meta.len().to_le_bytes());
            let hidden = entry.file_name().as_encoded_bytes().starts_with(b".");
            if meta.is_dir() && !hidden && depth < DEPTH_MAX {
                enter(&entry.path(), text, depth + 1)?;
            }
        }
        Ok(())
    }
    let mut text = Vec::new();
    enter(root, &mut text, 0)?;
    Ok(stdx::hash::hash64(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(path: &str, text: &str, modified: u64, is_in_key: bool) -> Source {
        let bytes = Arc::new(text.as_bytes().to_vec());
        Source { path: path.into(), bytes, modified, is_in_key }
    }

    #[test]
    fn a_key_comes_before_a_directory() {
        let base = [source("public/a", "1", 5, false), source("public/b", "2", 5, false)];
        let over = [source("public/b", "3", 9, true), source("routes", "GET /x x.html", 9, true)];
        let (site, errors) = Site::new(merged(&base, &over), &[], None);
        assert!(errors.is_empty() && site.has_routes_in_key(), "{errors:?}");
        assert_eq!(**site.file("/a").expect("there").body(), b"1");
        assert_eq!(**site.file("/b").expect("there").body(), b"3");
        assert_eq!(site.missing(), ["routes: GET /x: there is no template 'x.html'"]);
        let over = [source("public/b", "3", 20, true), source("public/c", "4", 20, true)];
        let (next, _) = Site::new(merged(&base, &over), &[], Some(&site));
        let modified = |path: &str| next.file(path).expect("there").modified;
        assert_eq!((modified("/b"), modified("/c")), (9, 20));
        // Routes with an error leave those before, and with them where they are from.
        let (kept, errors) = Site::new(vec![source("routes", "GET", 0, false)], &[], Some(&site));
        assert!(errors.len() == 1 && kept.has_routes_in_key() && kept.routes().len() == 1);
    }

    #[test]
    fn paths_stay_inside() {
        for good in ["routes", "public/a b/c.css", "templates/\u{e4}.html"] {
            assert!(is_path(good), "{good}");
        }
        let deep = "a/".repeat(40) + "a";
        for bad in ["", "/a", "a/", "a//b", "../a", "a/../b", "a/.b", ".", "a\\b", "a\0", &deep] {
            assert!(!is_path(bad), "{bad}");
        }
    }
}
