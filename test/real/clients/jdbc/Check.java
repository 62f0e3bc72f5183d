import java.sql.*;
import java.util.Properties;

/** The ClickHouse JDBC driver, unchanged, against a gateway: Check URL PASSWORD. Ends with exit code 0 when all is well. */
public class Check {
  static void that(boolean ok, String what) {
    if (!ok) throw new IllegalStateException(what);
  }

  static Connection connect(String url, String user, String password, String... more) throws SQLException {
    Properties given = new Properties();
    given.setProperty("user", user);
    given.setProperty("password", password);
    for (int i = 0; i < more.length; i += 2) given.setProperty(more[i], more[i + 1]);
    return DriverManager.getConnection(url, given);
  }

  public static void main(String[] args) throws Exception {
    String url = args[0];
    String password = args[1];
    try (Connection db = connect(url, "default", password); Statement statement = db.createStatement()) {
      that(db.isValid(5), "ping");
      statement.execute("CREATE OR REPLACE TABLE jd (a UInt64, s String, t DateTime) ENGINE = MergeTree ORDER BY a");
      try (PreparedStatement insert = db.prepareStatement("INSERT INTO jd (a, s, t) VALUES (?, ?, ?)")) {
        for (int i = 0; i < 5000; i++) {
          insert.setLong(1, i);
          insert.setString(2, "it's row\n\n" + i);
          insert.setTimestamp(3, Timestamp.valueOf("2024-01-02 03:04:05"));
          insert.addBatch();
        }
        that(insert.executeBatch().length == 5000, "batch");
      }
      try (ResultSet rows = statement.executeQuery("SELECT a, s FROM jd ORDER BY a")) {
        int n = 0;
        while (rows.next()) {
          that(rows.getLong(1) == n && rows.getString(2).equals("it's row\n\n" + n), "row " + n);
          n++;
        }
        that(n == 5000, "5000 rows, not " + n);
      }
      try (PreparedStatement select = db.prepareStatement("SELECT count() FROM jd WHERE a < ? AND s != ?")) {
        select.setInt(1, 10);
        select.setString(2, "x'y\\z");
        try (ResultSet rows = select.executeQuery()) {
          that(rows.next() && rows.getLong(1) == 10, "parameters");
        }
      }
      try (ResultSet rows = statement.executeQuery("SELECT number FROM numbers(1000000)")) {
        long n = 0;
        while (rows.next()) n++;
        that(n == 1_000_000, "a million rows, not " + n);
      }
      try (ResultSet tables = db.getMetaData().getTables(null, null, "jd", null)) {
        that(tables.next(), "meta data");
      }
      try {
        statement.executeQuery("SELECT * FROM nothing");
        throw new IllegalStateException("no error");
      } catch (SQLException error) {
        that(error.getMessage().contains("nothing"), "error: " + error.getMessage());
      }
    }
    for (String packed : new String[] {"true", "false"}) {
      try (Connection db = connect(url, "default", password, "compress", packed, "decompress", packed);
          Statement statement = db.createStatement();
          ResultSet rows = statement.executeQuery("SELECT sum(a) FROM jd")) {
        that(rows.next() && rows.getLong(1) == 12497500L, "compress=" + packed);
      }
    }
    try (Connection db = connect(url, "reader", "reader"); Statement statement = db.createStatement()) {
      try (ResultSet rows = statement.executeQuery("SELECT 1")) {
        that(rows.next(), "reader");
      }
      try {
        statement.execute("DROP TABLE jd");
        throw new IllegalStateException("a reader dropped a table");
      } catch (SQLException expected) {
        that(String.valueOf(expected.getMessage()).contains("READONLY"), "reader: " + expected.getMessage());
      }
    }
    try (Connection db = connect(url, "default", "wrong"); Statement statement = db.createStatement()) {
      statement.executeQuery("SELECT 1");
      throw new IllegalStateException("a wrong password was accepted");
    } catch (SQLException expected) {
      that(String.valueOf(expected.getMessage()).contains("Authentication"), "login: " + expected.getMessage());
    }
    System.out.println("clickhouse-jdbc ok");
    System.exit(0);
  }
}
