// What the system calls of a server of live channels cost: it accepts, answers handshakes, connects and subscriptions with
// fixed texts, and writes each publication to the sockets of its channel, what one read brought with one write for each.
// Channels whose names begin with "hist" have a history, and clients recover from it. It checks nothing and knows the messages of
// `apus bench live` only.
//
// usage: live_floor PORT

#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CHANNELS = 1024, SUBSCRIBERS = 4096, FILES = 65536, BUFFER = 1 << 18, KEPT = 128, LONGEST = 1024 };

static const char UPGRADED[] =
    "HTTP/1.1 101 Switching Protocols\r\nDate: Wed, 25 Nov 2026 00:00:00 GMT\r\nUpgrade: websocket\r\n"
    "Connection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
static const char CONNECTED[] =
    "{\"id\":1,\"connect\":{\"client\":\"11111111-1111-1111-1111-111111111111\",\"version\":\"0.1.0\",\"ping\":25}}";
static const char SUBSCRIBED[] = "\n{\"id\":2,\"subscribe\":{}}";

// The last publications of channels whose names begin with "hist", as replies to clients that recover have them.
static char kept[CHANNELS][KEPT][LONGEST];
static int kept_lens[CHANNELS][KEPT], offsets[CHANNELS];

static int subscribers[CHANNELS][SUBSCRIBERS], counts[CHANNELS], channel_of[FILES];
static char upgraded[FILES];

// What waits to be sent: replies to the connection that was read, pushes to a channel.
static char input[BUFFER], replies[BUFFER], pushes[BUFFER];
static int replied, pushed, pushed_to;

static int frame(char *to, const char *text, int n) {
    int head = n < 126 ? 2 : 4;
    to[0] = (char)0x81;
    to[1] = n < 126 ? (char)n : 126;
    if (head == 4) to[2] = (char)(n >> 8), to[3] = (char)n;
    memcpy(to + head, text, n);
    return head + n;
}

static void flush(int from) {
    if (replied) send(from, replies, replied, MSG_NOSIGNAL);
    for (int k = 0; pushed && k < counts[pushed_to]; k++)
        send(subscribers[pushed_to][k], pushes, pushed, MSG_NOSIGNAL);
    replied = pushed = 0;
}

static void publish(int from, char *text, char *end, const char *name, int name_len, int channel) {
    char message[4096];
    if (pushed && (pushed_to != channel || pushed > BUFFER - 8192)) flush(from);
    int n = snprintf(message, 64, "{\"id\":%d,\"publish\":{}}", atoi(strstr(text, "\"id\":") + 5));
    replied += frame(replies + replied, message, n);
    char *data = strstr(name, "\"data\":") + 7, publication[LONGEST], offset[32] = "";
    if (!strncmp(name, "hist", 4)) snprintf(offset, sizeof offset, ",\"offset\":%d", ++offsets[channel]);
    int whole = snprintf(publication, sizeof publication, "{\"data\":%.*s,\"info\":{\"user\":\"\",\"client\":"
        "\"11111111-1111-1111-1111-111111111111\"}%s}", (int)(end - 2 - data), data, offset);
    if (whole >= LONGEST) exit(1);
    n = snprintf(message, sizeof message, "{\"push\":{\"channel\":\"%.*s\",\"pub\":%s}}", name_len, name, publication);
    if (*offset) {
        memcpy(kept[channel][offsets[channel] % KEPT], publication, whole);
        kept_lens[channel][offsets[channel] % KEPT] = whole;
    }
    pushed += frame(pushes + pushed, message, n);
    pushed_to = channel;
}

static void command(int from, char *text, char *end) {
    char *name = strstr(text, "\"channel\":\"");
    if (!name) {
        replied += frame(replies + replied, CONNECTED, sizeof CONNECTED - 1);
        return;
    }
    name += 11;
    int len = strcspn(name, "\"");
    char *digits = name + len;
    while (digits[-1] >= '0' && digits[-1] <= '9') digits--;
    int channel = atoi(digits) % CHANNELS;
    if (!strstr(text, "\"subscribe\"")) return publish(from, text, end, name, len, channel);
    static char both[sizeof CONNECTED + sizeof SUBSCRIBED + KEPT * LONGEST];
    int n = sprintf(both, "%s", CONNECTED), last = offsets[channel];
    if (strncmp(name, "hist", 4)) {
        n += sprintf(both + n, "%s", SUBSCRIBED);
    } else {
        char *seen = strstr(text, "\"recover\":true") ? strstr(text, "\"offset\":") : 0;
        n += sprintf(both + n, "\n{\"id\":2,\"subscribe\":{\"recoverable\":true,\"epoch\":\"e\",\"publications\":[");
        for (int k = seen ? atoi(seen + 9) + 1 : last + 1; k <= last; k++) {
            memcpy(both + n, kept[channel][k % KEPT], kept_lens[channel][k % KEPT]);
            n += kept_lens[channel][k % KEPT];
            both[n++] = ',';
        }
        n -= both[n - 1] == ',';
        n += sprintf(both + n, "],%s\"offset\":%d,\"positioned\":true}}", seen ? "\"recovered\":true," : "", last);
    }
    replied += frame(replies + replied, both, n);
    if (counts[channel] < SUBSCRIBERS) subscribers[channel][counts[channel]++] = from;
    channel_of[from] = channel;
}

static void end(int fd) {
    int channel = channel_of[fd];
    for (int k = 0; channel >= 0 && k < counts[channel]; k++)
        if (subscribers[channel][k] == fd) subscribers[channel][k] = subscribers[channel][--counts[channel]];
    close(fd);
}

static void turn(int fd) {
    int n = recv(fd, input, sizeof input - 1, 0);
    if (n <= 0) {
        if (n == 0 || errno != EAGAIN) end(fd);
        return;
    }
    input[n] = 0;
    if (!upgraded[fd]) {
        upgraded[fd] = 1;
        send(fd, UPGRADED, sizeof UPGRADED - 1, MSG_NOSIGNAL);
        return;
    }
    // Frames of clients have a mask, which is 0.
    for (char *at = input, *last = input + n; at + 6 < last;) {
        int len = at[1] & 127, head = len == 126 ? 8 : 6;
        if (len == 126) len = (unsigned char)at[2] << 8 | (unsigned char)at[3];
        char *text = at + head, *next = text + len;
        if (next > last) break;
        char kept = *next;
        *next = 0;
        command(fd, text, next);
        *next = kept;
        at = next;
    }
    flush(fd);
}

int main(int argc, char **argv) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    setsockopt(listener, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(listener, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(argc > 1 ? atoi(argv[1]) : 0),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(listener, (void *)&at, sizeof at) || listen(listener, 4096)) return perror("listening"), 1;
    int poll = epoll_create1(0), fd;
    struct epoll_event event = {EPOLLIN, {.fd = listener}}, events[512];
    epoll_ctl(poll, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        int n = epoll_wait(poll, events, 512, -1);
        for (int i = 0; i < n; i++) {
            if (events[i].data.fd != listener) {
                turn(events[i].data.fd);
                continue;
            }
            while ((fd = accept4(listener, 0, 0, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
                if (fd >= FILES) return 1;
                upgraded[fd] = 0, channel_of[fd] = -1;
                event.events = EPOLLIN | EPOLLRDHUP | EPOLLET, event.data.fd = fd;
                epoll_ctl(poll, EPOLL_CTL_ADD, fd, &event);
            }
        }
    }
}
