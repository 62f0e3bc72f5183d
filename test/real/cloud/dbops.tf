# Databases, users, roles and grants with the provider clickhousedbops, at the endpoint of a service.
terraform {
  required_providers {
    clickhousedbops = { source = "ClickHouse/clickhousedbops" }
  }
}

variable "port" { type = number }
variable "password" { type = string }
variable "hash" { default = "first" }

provider "clickhousedbops" {
  protocol = "http"
  host     = "127.0.0.1"
  port     = var.port
  auth_config = {
    strategy = "basicauth"
    username = "default"
    password = var.password
  }
}

resource "clickhousedbops_database" "shop" {
  name    = "shop"
  comment = "Orders and customers"
}

resource "clickhousedbops_role" "reader" { name = "reader" }
resource "clickhousedbops_role" "analyst" { name = "analyst" }

resource "clickhousedbops_user" "person" {
  name = "anna"
  auth {
    sha256_hash {
      value_wo         = sha256(var.hash)
      value_wo_version = length(var.hash)
    }
  }
}

resource "clickhousedbops_user" "machine" {
  name                            = "machine"
  password_sha256_hash_wo         = sha256("machine")
  password_sha256_hash_wo_version = 1
}

resource "clickhousedbops_grant_privilege" "read" {
  privilege_name    = "SELECT"
  database_name     = clickhousedbops_database.shop.name
  grantee_role_name = clickhousedbops_role.reader.name
  grant_option      = false
}

resource "clickhousedbops_grant_privilege" "column" {
  privilege_name    = "INSERT"
  database_name     = clickhousedbops_database.shop.name
  table_name        = "orders"
  column_name       = "total"
  grantee_user_name = clickhousedbops_user.machine.name
  grant_option      = false
}

resource "clickhousedbops_grant_role" "role_to_role" {
  role_name         = clickhousedbops_role.reader.name
  grantee_role_name = clickhousedbops_role.analyst.name
}

resource "clickhousedbops_grant_role" "role_to_user" {
  role_name         = clickhousedbops_role.analyst.name
  grantee_user_name = clickhousedbops_user.person.name
}
