package bigtent.clients;

import com.google.api.gax.core.FixedCredentialsProvider;
import com.google.api.gax.grpc.InstantiatingGrpcChannelProvider;
import com.google.auth.oauth2.AccessToken;
import com.google.auth.oauth2.OAuth2Credentials;
import com.google.cloud.bigtable.admin.v2.BigtableInstanceAdminClient;
import com.google.cloud.bigtable.admin.v2.BigtableInstanceAdminSettings;
import com.google.cloud.bigtable.admin.v2.BigtableTableAdminClient;
import com.google.cloud.bigtable.admin.v2.BigtableTableAdminSettings;
import com.google.cloud.bigtable.admin.v2.stub.BigtableInstanceAdminStubSettings;
import com.google.cloud.bigtable.admin.v2.stub.BigtableTableAdminStubSettings;
import com.google.cloud.bigtable.data.v2.BigtableDataClient;
import com.google.cloud.bigtable.data.v2.BigtableDataSettings;
import com.google.cloud.bigtable.data.v2.stub.EnhancedBigtableStubSettings;
import com.google.cloud.bigtable.data.v2.stub.metrics.NoopMetricsProvider;
import io.grpc.ClientInterceptor;
import io.grpc.ManagedChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.GrpcSslContexts;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import java.io.File;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import javax.net.ssl.SSLException;

/** Which server, and which tenant there; and clients of it. */
record Target(
    String endpoint,
    boolean emulated,
    String authorities,
    String key,
    String project,
    String instance) {

  private static String variable(String name) {
    return Optional.ofNullable(System.getenv(name)).orElse("");
  }

  static Target fromEnvironment() {
    String emulator = variable("BIGTABLE_EMULATOR_HOST");
    String instance = variable("BIGTENT_INSTANCE");
    Target target =
        new Target(
            emulator.isEmpty() ? variable("BIGTENT_ENDPOINT") : emulator,
            !emulator.isEmpty(),
            variable("BIGTENT_CA"),
            variable("BIGTENT_KEY"),
            variable("BIGTENT_PROJECT"),
            instance.isEmpty() ? "main" : instance);
    if (target.endpoint.isEmpty()
        || target.project.isEmpty()
        || (!target.emulated && (target.key.isEmpty() || target.authorities.isEmpty()))) {
      throw new IllegalArgumentException(
          "BIGTENT_PROJECT and (BIGTENT_ENDPOINT, BIGTENT_CA, BIGTENT_KEY or"
              + " BIGTABLE_EMULATOR_HOST) are needed");
    }
    return target;
  }

  /** The tenant with a low rate of writes, if the environment names one. */
  Optional<Target> limited() {
    Target other = withKey(variable("BIGTENT_LIMITED_KEY"))
        .withProject(variable("BIGTENT_LIMITED_PROJECT"));
    boolean named = !other.project.isEmpty() && (!other.key.isEmpty() || emulated);
    return named ? Optional.of(other) : Optional.empty();
  }

  Target withKey(String other) {
    return new Target(endpoint, emulated, authorities, other, project, instance);
  }

  Target withProject(String other) {
    return new Target(endpoint, emulated, authorities, key, other, instance);
  }

  private String host() {
    return endpoint.substring(0, endpoint.lastIndexOf(':'));
  }

  private int port() {
    return Integer.parseInt(endpoint.substring(endpoint.lastIndexOf(':') + 1));
  }

  private ManagedChannelBuilder<?> trust(ManagedChannelBuilder<?> channel) {
    try {
      return ((NettyChannelBuilder) channel)
          .sslContext(GrpcSslContexts.forClient().trustManager(new File(authorities)).build());
    } catch (SSLException failure) {
      throw new IllegalStateException(failure);
    }
  }

  private FixedCredentialsProvider credentials() {
    return FixedCredentialsProvider.create(OAuth2Credentials.create(new AccessToken(key, null)));
  }

  private InstantiatingGrpcChannelProvider channel(
      InstantiatingGrpcChannelProvider.Builder channel) {
    return channel.setChannelConfigurator(this::trust).build();
  }

  BigtableDataClient data() throws IOException {
    return data(List.of(), settings -> {});
  }

  /** A client whose calls pass interceptors, or whose settings differ from the usual. */
  BigtableDataClient data(
      List<ClientInterceptor> interceptors, Consumer<EnhancedBigtableStubSettings.Builder> change)
      throws IOException {
    BigtableDataSettings.Builder settings =
        emulated
            ? BigtableDataSettings.newBuilderForEmulator(host(), port())
            : BigtableDataSettings.newBuilder().setCredentialsProvider(credentials());
    settings.setProjectId(project).setInstanceId(instance);
    settings.setMetricsProvider(NoopMetricsProvider.INSTANCE);
    EnhancedBigtableStubSettings.Builder stub = settings.stubSettings();
    InstantiatingGrpcChannelProvider.Builder provider =
        ((InstantiatingGrpcChannelProvider) stub.getTransportChannelProvider())
            .toBuilder().setInterceptorProvider(() -> interceptors);
    if (emulated) {
      stub.setTransportChannelProvider(provider.build());
    } else {
      stub.setEndpoint(endpoint);
      stub.setTransportChannelProvider(channel(provider));
    }
    change.accept(stub);
    return BigtableDataClient.create(settings.build());
  }

  BigtableTableAdminClient admin() throws IOException {
    BigtableTableAdminSettings.Builder settings =
        emulated
            ? BigtableTableAdminSettings.newBuilderForEmulator(host(), port())
            : BigtableTableAdminSettings.newBuilder().setCredentialsProvider(credentials());
    settings.setProjectId(project).setInstanceId(instance);
    if (!emulated) {
      settings.stubSettings().setEndpoint(endpoint);
      settings
          .stubSettings()
          .setTransportChannelProvider(
              channel(BigtableTableAdminStubSettings.defaultGrpcTransportProviderBuilder()));
    }
    return BigtableTableAdminClient.create(settings.build());
  }

  BigtableInstanceAdminClient instances() throws IOException {
    BigtableInstanceAdminSettings.Builder settings =
        BigtableInstanceAdminSettings.newBuilder()
            .setProjectId(project)
            .setCredentialsProvider(credentials());
    settings.stubSettings().setEndpoint(endpoint);
    settings
        .stubSettings()
        .setTransportChannelProvider(
            channel(BigtableInstanceAdminStubSettings.defaultGrpcTransportProviderBuilder()));
    return BigtableInstanceAdminClient.create(settings.build());
  }
}
