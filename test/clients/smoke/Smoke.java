import com.clickhouse.client.api.Client;
import com.clickhouse.client.api.query.GenericRecord;
import com.clickhouse.data.ClickHouseFormat;
import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;

/** client-v2 and clickhouse-jdbc, unchanged. The address is in the environment. */
public class Smoke {
  public static void main(String[] args) throws Exception {
    String address = System.getenv("CLICKHOUSE_HOST") + ":" + System.getenv("CLICKHOUSE_PORT");
    String password = System.getenv("CLICKHOUSE_PASSWORD");
    Client.Builder builder = new Client.Builder().addEndpoint("http://" + address);
    try (Client client = builder.setUsername("default").setPassword(password).setDefaultDatabase("default").build()) {
      client(client);
    }
    Properties login = new Properties();
    login.setProperty("user", "default");
    login.setProperty("password", password);
    try (Connection connection = DriverManager.getConnection("jdbc:clickhouse://" + address + "/default", login)) {
      jdbc(connection);
    }
    System.out.println("done");
    System.exit(0);
  }

  static void client(Client client) {
    check("client-v2: ping", client::ping, true);
    check("client-v2: create", () -> {
      client.execute("CREATE TABLE jv (a UInt32, s String) ORDER BY a").get(20, TimeUnit.SECONDS).close();
      return true;
    }, true);
    check("client-v2: insert", () -> {
      byte[] rows = "1\tone;\n2\ttwo\n".getBytes(StandardCharsets.UTF_8);
      try (var answer = client.insert("jv", new ByteArrayInputStream(rows), ClickHouseFormat.TSV).get(20, TimeUnit.SECONDS)) {
        return answer.getWrittenRows();
      }
    }, 2L);
    check("client-v2: select", () -> client.queryAll("SELECT s FROM jv WHERE a = 1").get(0).getString("s"), "one;");
    check("client-v2: parameters", () -> {
      List<GenericRecord> rows = client.queryAll("SELECT {x:Int32} AS x", Map.of("x", 4));
      return rows.get(0).getInteger("x");
    }, 4);
    check("client-v2: time of another zone", () -> {
      GenericRecord row = client.queryAll("SELECT toDateTime(0, 'Asia/Tokyo') AS t").get(0);
      return row.getZonedDateTime("t").toString();
    }, "1970-01-01T09:00+09:00[Asia/Tokyo]");
    check("client-v2: read rows of a query", () -> {
      try (var records = client.queryRecords("SELECT number FROM numbers(1000)").get(20, TimeUnit.SECONDS)) {
        return records.getReadRows();
      }
    }, 1000L);
  }

  static void jdbc(Connection connection) {
    check("jdbc: version", () -> connection.getMetaData().getDatabaseProductName(), "ClickHouse");
    check("jdbc: prepared insert in batches", () -> {
      try (var statement = connection.prepareStatement("INSERT INTO jv (a, s) VALUES (?, ?)")) {
        for (int i = 10; i < 20; i++) {
          statement.setInt(1, i);
          statement.setString(2, "it's " + i);
          statement.addBatch();
        }
        return statement.executeBatch().length;
      }
    }, 10);
    check("jdbc: prepared select", () -> {
      try (var statement = connection.prepareStatement("SELECT s FROM jv WHERE a = ?")) {
        statement.setInt(1, 12);
        ResultSet rows = statement.executeQuery();
        rows.next();
        return rows.getString(1);
      }
    }, "it's 12");
    check("jdbc: tables of the database", () -> {
      ResultSet tables = connection.getMetaData().getTables(null, "default", "jv", null);
      return tables.next() ? tables.getString("TABLE_NAME") : "none";
    }, "jv");
    check("jdbc: code of an error", () -> {
      try (var statement = connection.createStatement()) {
        statement.executeQuery("SELECT * FROM nothing");
        return 0;
      } catch (SQLException error) {
        return error.getErrorCode();
      }
    }, 60);
    check("jdbc: drop", () -> {
      try (var statement = connection.createStatement()) {
        statement.execute("DROP TABLE jv");
        return true;
      }
    }, true);
  }

  static void check(String name, Callable<?> run, Object expected) {
    try {
      Object got = run.call();
      System.out.println(Objects.equals(got, expected) ? "ok " + name : "not ok " + name + ": " + got + ", not " + expected);
    } catch (Exception error) {
      System.out.println("not ok " + name + ": " + String.valueOf(error.getMessage()).split("\n")[0]);
    }
  }
}
