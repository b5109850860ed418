// Writes the bytes of golden.py: java -cp "$KAFKA/libs/*" Golden.java
import java.nio.ByteBuffer;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.*;
import org.apache.kafka.common.header.internals.*;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.common.utils.*;

public class Golden {
    static void show(String name, ByteBuffer b) {
        b = b.duplicate();
        StringBuilder s = new StringBuilder();
        while (b.hasRemaining()) s.append(String.format("%02x", b.get()));
        System.out.println(name + " " + s);
    }
    static byte[] b(String s) { return s == null ? null : s.getBytes(); }
    static MemoryRecordsBuilder builder(byte magic, Compression c, TimestampType t, long base, long append, long pid, short epoch, int seq, boolean txn, boolean control, int leaderEpoch) {
        return new MemoryRecordsBuilder(ByteBuffer.allocate(4096), magic, c, t, base, append, pid, epoch, seq, txn, control, leaderEpoch, 4096);
    }
    public static void main(String[] a) throws Exception {
        Compression[] all = { Compression.NONE, Compression.gzip().build(), Compression.snappy().build(), Compression.lz4().build(), Compression.zstd().build() };
        String[] names = {"none","gzip","snappy","lz4","zstd"};
        for (int i = 0; i < 5; i++) {
            MemoryRecordsBuilder m = builder((byte)2, all[i], TimestampType.CREATE_TIME, 1000L, -1L, 7L, (short)3, 11, false, false, 5);
            m.append(1700000000000L, b("key"), b("value"), new Header[]{ new RecordHeader("h", b("1")), new RecordHeader("h", (byte[])null), new RecordHeader("\u00fc", new byte[0]) });
            m.append(1699999999999L, (byte[])null, b(""), new Header[0]);
            m.append(1700000000300L, b(""), (byte[])null, new Header[0]);
            show("v2_" + names[i], m.build().buffer());
        }
        MemoryRecordsBuilder m = builder((byte)2, Compression.NONE, TimestampType.LOG_APPEND_TIME, 50L, 1700000000999L, -1L, (short)-1, -1, false, false, 9);
        m.append(1700000000000L, b("k"), b("v"), new Header[0]);
        m.append(1700000000001L, b("k"), b("w"), new Header[0]);
        show("v2_log_append_time", m.build().buffer());
        show("v2_abort_marker", MemoryRecords.withEndTransactionMarker(70L, 1700000000000L, 4, 7L, (short)3, new EndTransactionMarker(ControlRecordType.ABORT, 0)).buffer());
        show("v2_commit_marker", MemoryRecords.withEndTransactionMarker(71L, 1700000000000L, 4, 7L, (short)3, new EndTransactionMarker(ControlRecordType.COMMIT, 0)).buffer());
        m = builder((byte)2, Compression.NONE, TimestampType.CREATE_TIME, 60L, -1L, 7L, (short)3, 11, true, false, 5);
        m.append(1700000000000L, b("k"), b("v"), new Header[0]);
        show("v2_transactional", m.build().buffer());
        ByteBuffer empty = ByteBuffer.allocate(61);
        DefaultRecordBatch.writeEmptyHeader(empty, (byte)2, 7L, (short)3, 11, 200L, 209L, 5, TimestampType.CREATE_TIME, 1700000000000L, true, false);
        empty.flip(); show("v2_empty_after_compaction", empty);
        MemoryRecordsBuilder d = new MemoryRecordsBuilder(new ByteBufferOutputStream(ByteBuffer.allocate(512)), (byte)2, Compression.NONE, TimestampType.CREATE_TIME, 300L, -1L, -1L, (short)-1, -1, false, false, 5, 512, 1700000099999L);
        d.append(1700000000000L, b("gone"), (byte[])null, new Header[0]);
        show("v2_delete_horizon", d.build().buffer());
        for (byte magic = 0; magic < 2; magic++)
            for (int i = 0; i < 4; i++)
                for (int t = 0; t < (magic == 0 ? 1 : 2); t++) {
                    TimestampType type = magic == 0 ? TimestampType.NO_TIMESTAMP_TYPE : t == 0 ? TimestampType.CREATE_TIME : TimestampType.LOG_APPEND_TIME;
                    try {
                        m = builder(magic, all[i], type, 1000L, t == 1 ? 1700000000999L : -1L, -1L, (short)-1, -1, false, false, -1);
                        m.append(magic == 0 ? -1L : 1700000000000L, b("key"), b("value"));
                        m.append(magic == 0 ? -1L : 1700000000001L, (byte[])null, b(""));
                        m.append(magic == 0 ? -1L : 1699999999999L, b(""), (byte[])null);
                        show("v" + magic + "_" + names[i] + (t == 1 ? "_log_append_time" : ""), m.build().buffer());
                    } catch (Exception e) { System.out.println("# v" + magic + "_" + names[i] + " " + e); }
                }
    }
}
