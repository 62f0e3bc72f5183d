# A service with four pipes. The same files work with ClickHouse Cloud and with Millrace: see docs/compat.md.

terraform {
  required_providers {
    clickhouse = {
      source = "ClickHouse/clickhouse"
    }
  }
}

# Reads CLICKHOUSE_API_URL, CLICKHOUSE_ORG_ID, CLICKHOUSE_CLOUD_API_KEY and CLICKHOUSE_CLOUD_API_SECRET.
provider "clickhouse" {}

locals {
  columns = [
    { name = "id", type = "Int64" },
    { name = "name", type = "String" },
  ]
  field_mappings = [for column in local.columns : {
    source_field      = column.name
    destination_field = column.name
  }]
  ordered_by_id = {
    engine      = { type = "MergeTree" }
    sorting_key = ["id"]
  }
}

resource "clickhouse_service" "warehouse" {
  name                  = var.name
  cloud_provider        = "aws"
  region                = "us-east-1"
  password              = var.password
  idle_scaling          = true
  idle_timeout_minutes  = 15
  min_replica_memory_gb = var.memory_gb
  max_replica_memory_gb = 16
  tags                  = { managed_by = "terraform" }

  ip_access = [{
    source      = "0.0.0.0/0"
    description = "anywhere"
  }]

  backup_configuration = {
    backup_period_in_hours           = 12
    backup_retention_period_in_hours = 48
  }
}

resource "clickhouse_clickpipe" "events" {
  name           = "events"
  service_id     = clickhouse_service.warehouse.id
  stopped        = var.stopped
  settings       = var.settings
  field_mappings = local.field_mappings

  source = {
    kafka = {
      brokers        = var.kafka.brokers
      topics         = var.topic
      format         = "JSONEachRow"
      authentication = "SCRAM-SHA-256"
      credentials    = { username = var.kafka.username, password = var.kafka.password }
      offset         = { strategy = "from_beginning" }
    }
  }

  destination = {
    table            = "events"
    managed_table    = true
    table_definition = local.ordered_by_id
    columns          = local.columns
  }
}

resource "clickhouse_clickpipe" "files" {
  name           = "files"
  service_id     = clickhouse_service.warehouse.id
  field_mappings = local.field_mappings

  source = {
    object_storage = {
      type           = "s3"
      url            = var.bucket.url
      format         = "JSONEachRow"
      is_continuous  = true
      authentication = "IAM_USER"
      access_key     = { access_key_id = var.bucket.access_key_id, secret_key = var.bucket.secret_key }
    }
  }

  destination = {
    table            = "files"
    managed_table    = true
    table_definition = local.ordered_by_id
    columns          = local.columns
  }
}

resource "clickhouse_clickpipe" "stream" {
  name           = "stream"
  service_id     = clickhouse_service.warehouse.id
  field_mappings = local.field_mappings

  source = {
    kinesis = {
      stream_name    = var.stream.name
      region         = "us-east-1"
      format         = "JSONEachRow"
      iterator_type  = "TRIM_HORIZON"
      authentication = "IAM_USER"
      access_key     = { access_key_id = var.stream.access_key_id, secret_key = var.stream.secret_key }
    }
  }

  destination = {
    table            = "stream"
    managed_table    = true
    table_definition = local.ordered_by_id
    columns          = local.columns
  }
}

resource "clickhouse_clickpipe" "shop" {
  name       = "shop"
  service_id = clickhouse_service.warehouse.id

  source = {
    postgres = {
      host           = var.postgres.host
      port           = var.postgres.port
      database       = var.postgres.database
      ca_certificate = var.postgres.ca_certificate
      tls_host       = var.postgres.tls_host
      credentials    = { username = var.postgres.username, password = var.postgres.password }

      settings = {
        replication_mode      = "cdc"
        sync_interval_seconds = 5
      }

      table_mappings = [for table in var.tables : {
        source_schema_name = "public"
        source_table       = table
        target_table       = table
      }]
    }
  }

  destination = {
    database = "shop"
  }
}

data "clickhouse_services" "managed" {
  tags       = { managed_by = "terraform" }
  depends_on = [clickhouse_service.warehouse]
}

# The state changes by itself: an output of it would show a difference in every plan.
output "endpoint" {
  value = clickhouse_service.warehouse.endpoints.https
}

output "managed" {
  value = [for service in data.clickhouse_services.managed.services : service.name]
}
