import java.net.*;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.*;
import java.time.format.DateTimeFormatter;
import java.util.*;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import javax.security.auth.callback.*;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.common.security.auth.AuthenticateCallbackHandler;
import org.apache.kafka.common.security.oauthbearer.*;

/**
 * A broker's check of tokens as Amazon MSK takes them: a signed URL of the action kafka-cluster:Connect. The signature is
 * computed anew from the secrets in the listener's configuration (`key_ID="SECRET"`, and `session_ID` where a session
 * token belongs to the key).
 */
public class MskTokenValidator implements AuthenticateCallbackHandler {
  private final Map<String, String> options = new HashMap<>();

  public void configure(Map<String, ?> configs, String mechanism, List<AppConfigurationEntry> entries) {
    for (var entry : entries) entry.getOptions().forEach((name, value) -> options.put(name, String.valueOf(value)));
  }

  public void close() {}

  public void handle(Callback[] callbacks) throws UnsupportedCallbackException {
    for (Callback callback : callbacks) {
      if (!(callback instanceof OAuthBearerValidatorCallback asked)) throw new UnsupportedCallbackException(callback);
      try {
        String key = check(asked.tokenValue());
        System.out.println("MSK token of " + key);
        asked.token(token(asked.tokenValue(), key));
      } catch (Exception e) {
        System.out.println("MSK token refused: " + e);
        asked.error("invalid_token", null, null);
      }
    }
  }

  private String check(String token) throws Exception {
    URI url = new URI(new String(Base64.getUrlDecoder().decode(token), StandardCharsets.UTF_8));
    var query = new TreeMap<String, String>();
    for (String part : url.getRawQuery().split("&")) {
      String[] pair = part.split("=", 2);
      query.put(URLDecoder.decode(pair[0], StandardCharsets.UTF_8), URLDecoder.decode(pair[1], StandardCharsets.UTF_8));
    }
    String[] scope = query.get("X-Amz-Credential").split("/");
    require(scope.length == 5 && scope[3].equals("kafka-cluster") && scope[4].equals("aws4_request"), "scope");
    require(url.getScheme().equals("https") && url.getHost().equals("kafka." + scope[2] + ".amazonaws.com"), "host");
    require("kafka-cluster:Connect".equals(query.get("Action")), "action");
    require("900".equals(query.get("X-Amz-Expires")) && "host".equals(query.get("X-Amz-SignedHeaders")), "terms");
    Instant signed = ZonedDateTime.parse(query.get("X-Amz-Date"),
        DateTimeFormatter.ofPattern("yyyyMMdd'T'HHmmssX")).toInstant();
    require(Duration.between(signed, Instant.now()).abs().toSeconds() < 900, "time");
    String session = options.get("session_" + scope[0]);
    require(Objects.equals(session, query.get("X-Amz-Security-Token")), "session token");
    require(signature(url.getHost(), query, scope).equals(query.get("X-Amz-Signature")), "signature");
    return scope[0];
  }

  private String signature(String host, SortedMap<String, String> query, String[] scope) throws Exception {
    var canonical = new StringJoiner("&");
    for (var entry : query.entrySet()) {
      if (Set.of("X-Amz-Signature", "User-Agent").contains(entry.getKey())) continue;
      canonical.add(encoded(entry.getKey()) + "=" + encoded(entry.getValue()));
    }
    String request = "GET\n/\n" + canonical + "\nhost:" + host + "\n\nhost\n" + hex(sha256(""));
    String terms = String.join("/", scope[1], scope[2], scope[3], scope[4]);
    String toSign = "AWS4-HMAC-SHA256\n" + query.get("X-Amz-Date") + "\n" + terms + "\n" + hex(sha256(request));
    byte[] key = ("AWS4" + options.getOrDefault("key_" + scope[0], "unknown")).getBytes(StandardCharsets.UTF_8);
    for (int part = 1; part < 5; part += 1) key = hmac(key, scope[part]);
    return hex(hmac(key, toSign));
  }

  private static OAuthBearerToken token(String value, String principal) {
    long now = System.currentTimeMillis();
    return new OAuthBearerToken() {
      public String value() { return value; }
      public Set<String> scope() { return Set.of(); }
      public long lifetimeMs() { return now + 900_000; }
      public String principalName() { return principal; }
      public Long startTimeMs() { return now; }
    };
  }

  private static void require(boolean holds, String what) {
    if (!holds) throw new IllegalArgumentException(what);
  }

  private static String encoded(String text) {
    return URLEncoder.encode(text, StandardCharsets.UTF_8).replace("+", "%20").replace("*", "%2A").replace("%7E", "~");
  }

  private static byte[] sha256(String text) throws Exception {
    return MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
  }

  private static byte[] hmac(byte[] key, String text) throws Exception {
    Mac mac = Mac.getInstance("HmacSHA256");
    mac.init(new SecretKeySpec(key, "HmacSHA256"));
    return mac.doFinal(text.getBytes(StandardCharsets.UTF_8));
  }

  private static String hex(byte[] bytes) {
    return HexFormat.of().formatHex(bytes);
  }
}
