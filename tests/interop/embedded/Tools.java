// Kafka's own programs one after the other, in one JVM. Of each, a line says its main class, its
// arguments and last what it reads; a line answers with its exit code and what it printed to both
// its outputs. All words are base64, separated by spaces.

import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import org.apache.kafka.common.utils.Exit;

public class Tools {
    static class Ended extends Error {
        final int code;

        Ended(int code) {
            super("exit code " + code, null, false, false);
            this.code = code;
        }
    }

    static Ended first;

    public static void main(String[] args) throws Exception {
        Exit.Procedure procedure = (code, message) -> {
            if (message != null) {
                System.err.println(message);
            }
            first = first == null ? new Ended(code) : first;  // some catch it, and exit again
            throw first;
        };
        Exit.setExitProcedure(procedure);
        Exit.setHaltProcedure(procedure);
        List<Runnable> hooks = new ArrayList<>();  // it is one of them that closes a producer
        Exit.setShutdownHookAdder((name, hook) -> hooks.add(hook));
        PrintStream answers = System.out;
        var lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            byte[][] words = Arrays.stream(line.split(" ", -1)).map(Base64.getDecoder()::decode).toArray(byte[][]::new);
            var out = new ByteArrayOutputStream();
            var err = new ByteArrayOutputStream();
            PrintStream stderr = System.err;
            System.setOut(new PrintStream(out, true, "UTF-8"));
            System.setErr(new PrintStream(err, true, "UTF-8"));
            System.setIn(new ByteArrayInputStream(words[words.length - 1]));
            int code = run(words);
            hooks.forEach(Runnable::run);
            hooks.clear();
            System.out.flush();
            System.err.flush();
            System.setErr(stderr);
            var encoder = Base64.getEncoder();
            answers.println(code + " " + encoder.encodeToString(out.toByteArray()) + " " + encoder.encodeToString(err.toByteArray()));
            answers.flush();
        }
        Runtime.getRuntime().halt(0);  // whatever threads they have left behind
    }

    static int run(byte[][] words) throws Exception {
        String[] texts = new String[words.length - 1];
        for (int at = 0; at < texts.length; at++) {
            texts[at] = new String(words[at], "UTF-8");
        }
        var main = Class.forName(texts[0]).getMethod("main", String[].class);
        first = null;
        try {
            main.invoke(null, (Object) Arrays.copyOfRange(texts, 1, texts.length));
        } catch (InvocationTargetException failed) {
            if (first == null) {
                failed.getCause().printStackTrace();
                return 99;
            }
        }
        return first == null ? 0 : first.code;
    }
}
