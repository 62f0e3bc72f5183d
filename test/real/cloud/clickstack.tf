# What an organization watches, in the service of main.tf: all kinds of ClickStack that Millrace has.

resource "clickhouse_clickpipe_cdc_infrastructure" "shop" {
  service_id             = clickhouse_service.warehouse.id
  replica_cpu_millicores = 1000
  replica_memory_gb      = 4
  depends_on             = [clickhouse_clickpipe.shop]
}

resource "clickhouse_clickstack_source" "logs" {
  name          = "Logs"
  kind          = "log"
  connection_id = clickhouse_service.warehouse.id

  from = {
    database_name = "otel"
    table_name    = "otel_logs"
  }

  timestamp_value_expression      = "Timestamp"
  default_table_select_expression = "Timestamp, ServiceName, SeverityText, Body"
  service_name_expression         = "ServiceName"
  severity_text_expression        = "SeverityText"
  body_expression                 = "Body"
  resource_attributes_expression  = "ResourceAttributes"
  event_attributes_expression     = "LogAttributes"
}

resource "clickhouse_clickstack_saved_search" "errors" {
  name           = "Production errors"
  source_id      = clickhouse_clickstack_source.logs.id
  select         = "Timestamp, ServiceName, Body"
  where          = "SeverityText:error"
  where_language = "lucene"
  order_by       = "Timestamp DESC"
  tags           = ["production", "errors"]
  filters        = jsonencode([{ type = "sql", condition = "ServiceName IN ('checkout', 'payments')" }])
}

resource "clickhouse_clickstack_dashboard" "overview" {
  dashboard_json = jsonencode({
    name = "Overview"
    tags = ["otel"]
    tiles = [
      {
        name = "Errors"
        x    = 0, y = 0, w = 6, h = 3
        config = {
          displayType = "line"
          sourceId    = clickhouse_clickstack_source.logs.id
          groupBy     = "ServiceName"
          select      = [{ aggFn = "count", where = "SeverityText:error", whereLanguage = "lucene", alias = "Errors" }]
        }
      },
      {
        name = "Services"
        x    = 6, y = 0, w = 6, h = 3
        config = {
          configType   = "sql"
          displayType  = "table"
          connectionId = clickhouse_service.warehouse.id
          sqlTemplate  = "SELECT ServiceName, count() AS logs FROM otel_logs GROUP BY ServiceName"
        }
      }
    ]
  })
}

resource "clickhouse_clickstack_webhook" "pager" {
  name            = "pager"
  service         = "generic"
  url             = "https://1.1.1.1/v2/enqueue"
  description     = "Routes alerts to the pager"
  headers         = { Authorization = "Bearer hook-token" }
  headers_version = "1"
  body            = jsonencode({ routing_key = "{{eventId}}", summary = "{{title}}" })
}

resource "clickhouse_clickstack_alert" "many_errors" {
  saved_search_id = clickhouse_clickstack_saved_search.errors.id
  group_by        = "ServiceName"
  channel         = { type = "webhook", webhook_id = clickhouse_clickstack_webhook.pager.id }
  threshold       = 100
  threshold_type  = "above"
  interval        = "5m"
  name            = "Too many production errors"
  message         = "Error volume exceeded threshold"

  num_consecutive_windows = 2
}
