import io.github.centrifugal.centrifuge.*;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** The SDK centrifuge-java, which speaks Protobuf, against a server at the port that the only argument names. */
public class Live {
    static final LinkedBlockingQueue<String> events = new LinkedBlockingQueue<>();

    static void expect(String wanted) throws Exception {
        String got = events.poll(20, TimeUnit.SECONDS);
        if (!wanted.equals(got)) throw new AssertionError("expected " + wanted + ", got " + got);
        System.out.println("ok " + wanted);
    }

    static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    static Client client(String port) {
        Options options = new Options();
        options.setMinReconnectDelay(10);
        return new Client("ws://127.0.0.1:" + port + "/connection/websocket", options, new EventListener() {
            @Override
            public void onError(Client c, ErrorEvent e) {
                System.out.println("error " + e.getError());
            }
        });
    }

    static Subscription subscribe(Client client) throws Exception {
        Subscription sub = client.newSubscription("ch:java", new SubscriptionEventListener() {
            @Override
            public void onSubscribed(Subscription s, SubscribedEvent e) {
                events.add("subscribed " + e.wasRecovering() + " " + e.getRecovered());
            }

            @Override
            public void onUnsubscribed(Subscription s, UnsubscribedEvent e) {
                events.add("unsubscribed " + e.getCode());
            }

            @Override
            public void onPublication(Subscription s, PublicationEvent e) {
                events.add("publication " + e.getOffset() + " " + text(e.getData()));
            }
        });
        sub.subscribe();
        client.connect();
        return sub;
    }

    public static void main(String[] args) {
        try {
            run(args[0]);
            System.out.println("done");
            System.exit(0);
        } catch (Throwable e) {
            e.printStackTrace(System.out);
            System.exit(1);
        }
    }

    static void run(String port) throws Exception {
        Client one = client(port), other = client(port);
        Subscription a = subscribe(one);
        expect("subscribed false false");
        Subscription b = subscribe(other);
        expect("subscribed false false");
        a.publish(bytes("{\"n\":1}"), (error, result) -> events.add("published " + error));
        List<String> three = new ArrayList<>();
        for (int i = 0; i < 3; i++) three.add(events.poll(20, TimeUnit.SECONDS));
        String publication = "publication 1 {\"n\":1}";
        three.sort(null);
        if (!three.equals(List.of(publication, publication, "published null"))) throw new AssertionError(three);

        // What one publishes while the other is away, the other recovers.
        other.disconnect();
        CountDownLatch done = new CountDownLatch(3);
        for (int n = 2; n < 5; n++) a.publish(bytes("{\"n\":" + n + "}"), (error, result) -> done.countDown());
        if (!done.await(20, TimeUnit.SECONDS)) throw new AssertionError("no replies");
        for (int n = 2; n < 5; n++) expect("publication " + n + " {\"n\":" + n + "}");
        other.connect();
        expect("subscribed true true");
        for (int n = 2; n < 5; n++) expect("publication " + n + " {\"n\":" + n + "}");

        HistoryOptions some = new HistoryOptions.Builder().withLimit(2).withReverse(true).build();
        a.history(some, (error, result) -> {
            StringBuilder all = new StringBuilder("history " + error + " " + result.getOffset());
            for (Publication p : result.getPublications()) all.append(" ").append(p.getOffset()).append(text(p.getData()));
            events.add(all.toString());
        });
        expect("history null 4 4{\"n\":4} 3{\"n\":3}");
        a.presenceStats((error, result) -> events.add("clients " + error + " " + result.getNumClients()));
        expect("clients null 2");
        one.rpc("none", bytes("{}"), (error, result) -> events.add("rpc " + ((ReplyError) error).getCode()));
        expect("rpc 104");
        b.unsubscribe();
        expect("unsubscribed 0");
        one.close(1000);
        other.close(1000);
    }
}
