//! Options of what is not here: other stores, brokers, transports and consumers. They are known by name, so that a
//! typing error is told from an option that does nothing.

use super::super::row::{Row, bool, duration, group, int, map, text, texts};
use super::proxy::TLS;

const ENGINE_PREFIX: &str =
    "What keys and PUB/SUB channels begin with, here and with `live-broker`.";
const BROKER_PREFIX: &str = "The same, with a `broker` that is `enabled` and of the type `redis` (or `redisnats`): of histories and messages.";
const PRESENCE_PREFIX: &str =
    "The same, with a `presence_manager` that is `enabled` and of the type `redis`: of presence.";

const REDIS_REPLICA_CLIENT: &[Row] = &[bool("enabled", "")];

const REDIS_ENGINE: &[Row] = &[
    text("prefix", ENGINE_PREFIX).default("centrifugo").counts(),
    texts("address", ""),
    duration("connect_timeout", "").default("1s"),
    duration("io_timeout", "").default("4s"),
    int("db", "").default("0"),
    text("user", ""),
    text("password", ""),
    text("client_name", ""),
    bool("force_resp2", ""),
    texts("cluster_address", ""),
    group("tls", TLS),
    texts("sentinel_address", ""),
    text("sentinel_user", ""),
    text("sentinel_password", ""),
    text("sentinel_master_name", ""),
    text("sentinel_client_name", ""),
    group("sentinel_tls", TLS),
    group("replica_client", REDIS_REPLICA_CLIENT),
    bool("history_use_lists", ""),
    duration("presence_ttl", "").default("60s"),
    bool("presence_hash_field_ttl", ""),
    bool("presence_user_mapping", ""),
];

pub(super) const ENGINE: &[Row] =
    &[text("type", "").default("memory"), group("redis", REDIS_ENGINE)];

const REDIS_BROKER: &[Row] = &[
    text("prefix", BROKER_PREFIX).default("centrifugo").counts(),
    texts("address", ""),
    duration("connect_timeout", "").default("1s"),
    duration("io_timeout", "").default("4s"),
    int("db", "").default("0"),
    text("user", ""),
    text("password", ""),
    text("client_name", ""),
    bool("force_resp2", ""),
    texts("cluster_address", ""),
    group("tls", TLS),
    texts("sentinel_address", ""),
    text("sentinel_user", ""),
    text("sentinel_password", ""),
    text("sentinel_master_name", ""),
    text("sentinel_client_name", ""),
    group("sentinel_tls", TLS),
    group("replica_client", REDIS_REPLICA_CLIENT),
    bool("history_use_lists", ""),
];

const RAW_MODE_CONFIG: &[Row] =
    &[bool("enabled", ""), map("channel_replacements", ""), text("prefix", "")];

const NATS_BROKER: &[Row] = &[
    text("prefix", "").default("centrifugo"),
    text("url", "").default("nats://localhost:4222"),
    duration("dial_timeout", "").default("1s"),
    duration("write_timeout", "").default("1s"),
    group("tls", TLS),
    bool("allow_wildcards", ""),
    group("raw_mode", RAW_MODE_CONFIG),
];

const POSTGRES_MAP_BROKER_OUTBOX: &[Row] =
    &[duration("poll_interval", "").default("100ms"), int("batch_size", "").default("1000")];

const POSTGRES_STREAM_BROKER: &[Row] = &[
    text("dsn", ""),
    group("tls", TLS),
    int("pool_size", "").default("16"),
    int("num_shards", "").default("8"),
    duration("cleanup_interval", "").default("1m"),
    duration("idempotent_result_ttl", "").default("5m"),
    bool("binary_data", ""),
    duration("stream_retention", "").default("24h"),
    bool("use_notify", ""),
    text("notify_dsn", ""),
    text("table_prefix", "").default("cf"),
    bool("skip_schema_init", ""),
    group("outbox", POSTGRES_MAP_BROKER_OUTBOX),
    int("partition_lookahead_days", "").default("2"),
    int("partition_retention_days", "").default("7"),
];

const REDIS_NATS_BROKER: &[Row] = &[
    group("redis", REDIS_BROKER).listed("the prefix is that of `broker.redis`"),
    group("nats", NATS_BROKER),
];

pub(super) const BROKER: &[Row] = &[
    bool("enabled", ""),
    text("type", "").default("memory"),
    group("redis", REDIS_BROKER),
    group("nats", NATS_BROKER),
    group("postgres", POSTGRES_STREAM_BROKER),
    group("redisnats", REDIS_NATS_BROKER),
];

const REDIS_PRESENCE_MANAGER: &[Row] = &[
    text("prefix", PRESENCE_PREFIX).default("centrifugo").counts(),
    texts("address", ""),
    duration("connect_timeout", "").default("1s"),
    duration("io_timeout", "").default("4s"),
    int("db", "").default("0"),
    text("user", ""),
    text("password", ""),
    text("client_name", ""),
    bool("force_resp2", ""),
    texts("cluster_address", ""),
    group("tls", TLS),
    texts("sentinel_address", ""),
    text("sentinel_user", ""),
    text("sentinel_password", ""),
    text("sentinel_master_name", ""),
    text("sentinel_client_name", ""),
    group("sentinel_tls", TLS),
    group("replica_client", REDIS_REPLICA_CLIENT),
    duration("presence_ttl", "").default("60s"),
    bool("presence_hash_field_ttl", ""),
    bool("presence_user_mapping", ""),
];

pub(super) const PRESENCE_MANAGER: &[Row] = &[
    bool("enabled", ""),
    text("type", "").default("memory"),
    group("redis", REDIS_PRESENCE_MANAGER),
];

const REDIS_MAP_BROKER: &[Row] = &[
    text("prefix", "").default("centrifugo"),
    texts("address", ""),
    duration("connect_timeout", "").default("1s"),
    duration("io_timeout", "").default("4s"),
    int("db", "").default("0"),
    text("user", ""),
    text("password", ""),
    text("client_name", ""),
    bool("force_resp2", ""),
    texts("cluster_address", ""),
    group("tls", TLS),
    texts("sentinel_address", ""),
    text("sentinel_user", ""),
    text("sentinel_password", ""),
    text("sentinel_master_name", ""),
    text("sentinel_client_name", ""),
    group("sentinel_tls", TLS),
    group("replica_client", REDIS_REPLICA_CLIENT),
    duration("cleanup_interval", "").default("1s"),
    int("cleanup_batch_size", "").default("100"),
    duration("idempotent_result_ttl", "").default("5m"),
    bool("skip_pub_sub", ""),
];

const POSTGRES_MAP_BROKER: &[Row] = &[
    text("dsn", ""),
    group("tls", TLS),
    int("pool_size", "").default("16"),
    int("num_shards", "").default("8"),
    duration("ttl_check_interval", "").default("1s"),
    duration("cleanup_interval", "").default("1m"),
    duration("idempotent_result_ttl", "").default("5m"),
    bool("binary_data", ""),
    duration("stream_retention", "").default("24h"),
    bool("use_notify", ""),
    text("notify_dsn", ""),
    text("table_prefix", "").default("cf"),
    bool("skip_schema_init", ""),
    group("outbox", POSTGRES_MAP_BROKER_OUTBOX),
    int("partition_lookahead_days", "").default("2"),
    int("partition_retention_days", "").default("7"),
];

pub(super) const MAP_BROKER: &[Row] = &[
    text("type", "").default("memory"),
    group("redis", REDIS_MAP_BROKER),
    group("postgres", POSTGRES_MAP_BROKER),
];

const POSTGRES_CONTROLLER: &[Row] = &[
    text("dsn", ""),
    group("tls", TLS),
    int("pool_size", "").default("8"),
    int("num_shards", "").default("1"),
    text("table_prefix", "").default("cf"),
    duration("poll_interval", "").default("50ms"),
    bool("use_notify", ""),
    text("notify_dsn", ""),
    int("partition_retention_days", "").default("1"),
    int("partition_lookahead_days", "").default("2"),
    duration("partition_cleanup_interval", "").default("1m"),
    int("batch_size", "").default("1000"),
    bool("skip_schema_init", ""),
];

pub(super) const CONTROLLER: &[Row] =
    &[bool("enabled", ""), text("type", ""), group("postgres", POSTGRES_CONTROLLER)];

pub(super) const SHARED_POLL: &[Row] = &[
    text("hmac_secret_key", ""),
    text("hmac_previous_secret_key", ""),
    int("hmac_previous_secret_key_valid_until", ""),
    int("concurrency_limit", ""),
];

pub(super) const GRPC_API: &[Row] = &[
    bool("enabled", ""),
    text("error_mode", ""),
    text("address", ""),
    int("port", "").default("10000"),
    text("key", ""),
    group("tls", TLS),
    bool("reflection", ""),
    int("max_receive_message_size", ""),
];

const POSTGRES_CONSUMER_CONFIG: &[Row] = &[
    text("dsn", ""),
    text("outbox_table_name", ""),
    int("num_partitions", "").default("1"),
    int("partition_select_limit", "").default("100"),
    duration("partition_poll_interval", "").default("300ms"),
    text("partition_notification_channel", ""),
    text("partition_notification_dsn", ""),
    group("tls", TLS),
    bool("use_try_lock", "").default("false"),
];

const KAFKA_PUBLICATION_DATA_MODE_CONFIG: &[Row] = &[
    bool("enabled", ""),
    text("channels_header", "").default("centrifugo-channels"),
    text("idempotency_key_header", "").default("centrifugo-idempotency-key"),
    text("delta_header", "").default("centrifugo-delta"),
    text("version_header", "").default("centrifugo-version"),
    text("version_epoch_header", "").default("centrifugo-version-epoch"),
    text("tags_header_prefix", "").default("centrifugo-tag-"),
];

const KAFKA_CONSUMER_CONFIG: &[Row] = &[
    texts("brokers", ""),
    texts("topics", ""),
    text("consumer_group", ""),
    int("max_poll_records", "").default("100"),
    int("fetch_max_bytes", ""),
    duration("fetch_max_wait", "").default("500ms"),
    bool("fetch_read_uncommitted", "").default("false"),
    int("partition_queue_max_size", "").default("1000"),
    duration("dial_timeout", "").default("3s"),
    group("tls", TLS),
    text("sasl_mechanism", ""),
    text("sasl_user", ""),
    text("sasl_password", ""),
    text("assume_role_arn", ""),
    text("instance_id", ""),
    text("method_header", "").default("centrifugo-method"),
    group("publication_data_mode", KAFKA_PUBLICATION_DATA_MODE_CONFIG),
];

const NATS_JET_STREAM_PUBLICATION_DATA_MODE_CONFIG: &[Row] = &[
    bool("enabled", ""),
    text("channels_header", "").default("centrifugo-channels"),
    text("idempotency_key_header", "").default("centrifugo-idempotency-key"),
    text("delta_header", "").default("centrifugo-delta"),
    text("version_header", "").default("centrifugo-version"),
    text("version_epoch_header", "").default("centrifugo-version-epoch"),
    text("tags_header_prefix", "").default("centrifugo-tag-"),
];

const NATS_JET_STREAM_CONSUMER_CONFIG: &[Row] = &[
    text("url", "").default("nats://127.0.0.1:4222"),
    text("credentials_file", ""),
    text("username", ""),
    text("password", ""),
    text("token", ""),
    text("stream_name", ""),
    bool("use_existing_consumer", "").default("false"),
    texts("subjects", ""),
    text("durable_consumer_name", ""),
    text("deliver_policy", "").default("new"),
    int("max_ack_pending", "").default("100"),
    text("method_header", "").default("centrifugo-method"),
    group("publication_data_mode", NATS_JET_STREAM_PUBLICATION_DATA_MODE_CONFIG),
    group("tls", TLS),
];

const REDIS_STREAM_PUBLICATION_DATA_MODE_CONFIG: &[Row] = &[
    bool("enabled", ""),
    text("channels_value", "").default("centrifugo-channels"),
    text("idempotency_key_value", "").default("centrifugo-idempotency-key"),
    text("delta_value", "").default("centrifugo-delta"),
    text("version_value", "").default("centrifugo-version"),
    text("version_epoch_value", "").default("centrifugo-version-epoch"),
    text("tags_value_prefix", "").default("centrifugo-tag-"),
];

const REDIS_STREAM_CONSUMER_CONFIG: &[Row] = &[
    texts("address", ""),
    duration("connect_timeout", "").default("1s"),
    duration("io_timeout", "").default("4s"),
    int("db", "").default("0"),
    text("user", ""),
    text("password", ""),
    text("client_name", ""),
    bool("force_resp2", ""),
    texts("cluster_address", ""),
    group("tls", TLS),
    texts("sentinel_address", ""),
    text("sentinel_user", ""),
    text("sentinel_password", ""),
    text("sentinel_master_name", ""),
    text("sentinel_client_name", ""),
    group("sentinel_tls", TLS),
    group("replica_client", REDIS_REPLICA_CLIENT),
    texts("streams", ""),
    text("consumer_group", ""),
    duration("visibility_timeout", "").default("30s"),
    int("num_workers", "").default("1"),
    text("payload_value", "").default("payload"),
    text("method_value", "").default("method"),
    group("publication_data_mode", REDIS_STREAM_PUBLICATION_DATA_MODE_CONFIG),
];

const GOOGLE_PUB_SUB_PUBLICATION_DATA_MODE_CONFIG: &[Row] = &[
    bool("enabled", ""),
    text("channels_attribute", "").default("centrifugo-channels"),
    text("idempotency_key_attribute", "").default("centrifugo-idempotency-key"),
    text("delta_attribute", "").default("centrifugo-delta"),
    text("version_attribute", "").default("centrifugo-version"),
    text("version_epoch_attribute", "").default("centrifugo-version-epoch"),
    text("tags_attribute_prefix", "").default("centrifugo-tag-"),
];

const GOOGLE_PUB_SUB_CONSUMER_CONFIG: &[Row] = &[
    text("project_id", ""),
    texts("subscriptions", ""),
    int("max_outstanding_messages", "").default("100"),
    int("max_outstanding_bytes", "").default("1000000"),
    text("auth_mechanism", ""),
    text("credentials_file", ""),
    text("method_attribute", "").default("centrifugo-method"),
    group("publication_data_mode", GOOGLE_PUB_SUB_PUBLICATION_DATA_MODE_CONFIG),
];

const AWS_PUBLICATION_DATA_MODE_CONFIG: &[Row] = &[
    bool("enabled", ""),
    text("channels_attribute", "").default("centrifugo-channels"),
    text("idempotency_key_attribute", "").default("centrifugo-idempotency-key"),
    text("delta_attribute", "").default("centrifugo-delta"),
    text("version_attribute", "").default("centrifugo-version"),
    text("version_epoch_attribute", "").default("centrifugo-version-epoch"),
    text("tags_attribute_prefix", "").default("centrifugo-tag-"),
];

const AWS_SQS_CONSUMER_CONFIG: &[Row] = &[
    texts("queues", ""),
    bool("sns_envelope", ""),
    text("region", ""),
    int("max_number_of_messages", "").default("10"),
    duration("wait_time_time", "").default("20s"),
    duration("visibility_timeout", "").default("30s"),
    int("max_concurrency", "").default("1"),
    text("credentials_profile", ""),
    text("assume_role_arn", ""),
    text("method_attribute", "").default("centrifugo-method"),
    text("localstack_endpoint", ""),
    group("publication_data_mode", AWS_PUBLICATION_DATA_MODE_CONFIG),
];

const AZURE_SERVICE_BUS_PUBLICATION_DATA_MODE_CONFIG: &[Row] = &[
    bool("enabled", ""),
    text("channels_property", "").default("centrifugo-channels"),
    text("idempotency_key_property", "").default("centrifugo-idempotency-key"),
    text("delta_property", "").default("centrifugo-delta"),
    text("version_property", "").default("centrifugo-version"),
    text("version_epoch_property", "").default("centrifugo-version-epoch"),
    text("tags_property_prefix", "").default("centrifugo-tag-"),
];

const AZURE_SERVICE_BUS_CONSUMER_CONFIG: &[Row] = &[
    text("connection_string", ""),
    bool("use_azure_identity", ""),
    text("fully_qualified_namespace", ""),
    text("tenant_id", ""),
    text("client_id", ""),
    text("client_secret", ""),
    texts("queues", ""),
    bool("use_sessions", ""),
    int("max_concurrent_calls", "").default("1"),
    int("max_receive_messages", "").default("1"),
    text("method_property", "").default("centrifugo-method"),
    group("publication_data_mode", AZURE_SERVICE_BUS_PUBLICATION_DATA_MODE_CONFIG),
];

pub(super) const CONSUMER: &[Row] = &[
    text("name", ""),
    bool("enabled", ""),
    text("type", ""),
    group("postgresql", POSTGRES_CONSUMER_CONFIG),
    group("kafka", KAFKA_CONSUMER_CONFIG),
    group("nats_jetstream", NATS_JET_STREAM_CONSUMER_CONFIG),
    group("redis_stream", REDIS_STREAM_CONSUMER_CONFIG),
    group("google_pub_sub", GOOGLE_PUB_SUB_CONSUMER_CONFIG),
    group("aws_sqs", AWS_SQS_CONSUMER_CONFIG),
    group("azure_service_bus", AZURE_SERVICE_BUS_CONSUMER_CONFIG),
];

pub(super) const WEB_TRANSPORT: &[Row] = &[
    bool("enabled", ""),
    text("handler_prefix", "").default("/connection/webtransport"),
    int("message_size_limit", "").default("65536"),
];

pub(super) const UNI_GRPC: &[Row] = &[
    bool("enabled", ""),
    text("address", ""),
    int("port", "").default("11000"),
    int("max_receive_message_size", ""),
    group("tls", TLS),
];

pub(super) const ADMIN: &[Row] = &[
    bool("enabled", ""),
    text("handler_prefix", ""),
    text("password", ""),
    text("secret", ""),
    bool("insecure", ""),
    text("web_path", ""),
    text("web_proxy_address", ""),
    bool("external", ""),
];

pub(super) const SWAGGER: &[Row] =
    &[bool("enabled", ""), text("handler_prefix", "").default("/swagger")];

pub(super) const DEBUG: &[Row] =
    &[bool("enabled", ""), text("handler_prefix", "").default("/debug/pprof")];

pub(super) const CONN_INIT: &[Row] =
    &[bool("enabled", ""), text("handler_prefix", "").default("/connection/init")];

pub(super) const OPEN_TELEMETRY: &[Row] = &[
    bool("enabled", ""),
    bool("api", ""),
    bool("consuming", ""),
    bool("google_cloud_adc_auth", ""),
];

pub(super) const GRAPHITE: &[Row] = &[
    bool("enabled", ""),
    text("host", "").default("localhost"),
    int("port", "").default("2003"),
    text("prefix", "").default("centrifugo"),
    duration("interval", "").default("10s"),
    bool("tags", ""),
];

pub(super) const USAGE_STATS: &[Row] = &[bool("disabled", "")];

pub(super) const LOG: &[Row] = &[text("level", "").default("info"), text("file", "")];

const TLS_AUTOCERT: &[Row] = &[
    bool("enabled", ""),
    texts("host_whitelist", ""),
    text("cache_dir", ""),
    text("email", ""),
    text("server_name", ""),
    bool("http", ""),
    text("http_addr", "").default(":80"),
];

const HTTP3: &[Row] = &[bool("enabled", "")];

pub(super) const HTTP_SERVER: &[Row] = &[
    text("address", ""),
    int("port", "").default("8000"),
    text("internal_address", ""),
    text("internal_port", ""),
    group("tls", TLS).refused("Apus would serve without TLS what was served with it: set TLS for the web in Apus's own configuration, and remove this"),
    group("tls_autocert", TLS_AUTOCERT).refused("Apus would serve without TLS what was served with it: set TLS for the web in Apus's own configuration, and remove this"),
    bool("tls_external", ""),
    group("internal_tls", TLS),
    group("http3", HTTP3),
    bool("h2c_external", ""),
];

pub(super) const MAP_CONFIG: &[Row] = &[
    text("mode", ""),
    duration("key_ttl", ""),
    int("stream_size", ""),
    duration("stream_ttl", ""),
    duration("meta_ttl", ""),
    bool("remove_client_on_unsubscribe", ""),
    text("client_key", ""),
    bool("allow_publish_for_client", ""),
    bool("allow_publish_for_subscriber", ""),
    bool("allow_publish_for_anonymous", ""),
    bool("allow_remove_for_client", ""),
    bool("allow_remove_for_subscriber", ""),
    bool("allow_remove_for_anonymous", ""),
    bool("publish_proxy_enabled", ""),
    text("publish_proxy_name", "").default("default"),
    bool("remove_proxy_enabled", ""),
    text("remove_proxy_name", "").default("default"),
    int("default_page_size", ""),
    int("min_page_size", ""),
    int("max_page_size", ""),
    int("live_transition_max_publication_limit", ""),
    duration("subscribe_catch_up_timeout", ""),
];

pub(super) const SHARED_POLL_CONFIG: &[Row] = &[
    text("proxy_name", ""),
    duration("refresh_interval", ""),
    int("refresh_batch_size", ""),
    int("max_keys_per_connection", ""),
    text("mode", ""),
    duration("channel_shutdown_delay", ""),
    duration("track_expired_extra_delay", ""),
    bool("publish_enabled", ""),
];
