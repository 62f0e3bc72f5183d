variable "name" {
  type    = string
  default = "warehouse"
}

variable "password" {
  description = "Of the user default of the service"
  type        = string
  sensitive   = true
}

variable "memory_gb" {
  type    = number
  default = 8
}

variable "kafka" {
  type = object({
    brokers  = string
    username = string
    password = string
  })
  sensitive = true
}

variable "topic" {
  type    = string
  default = "events"
}

variable "stopped" {
  description = "Whether the pipe of Kafka is stopped"
  type        = bool
  default     = false
}

variable "settings" {
  description = "Settings of the pipe of Kafka"
  type        = any
  default     = null
}

variable "bucket" {
  description = "The url names the objects: https://bucket.s3.us-east-1.amazonaws.com/events/*.json"
  type = object({
    url           = string
    access_key_id = string
    secret_key    = string
  })
  sensitive = true
}

variable "stream" {
  type = object({
    name          = string
    access_key_id = string
    secret_key    = string
  })
  sensitive = true
}

variable "postgres" {
  description = "The server needs TLS; the certificate is that of its authority, in PEM"
  type = object({
    host           = string
    port           = number
    database       = string
    username       = string
    password       = string
    ca_certificate = string
    tls_host       = string
  })
  sensitive = true
}

variable "tables" {
  description = "Tables of the schema public that are replicated"
  type        = list(string)
  default     = ["orders"]
}
