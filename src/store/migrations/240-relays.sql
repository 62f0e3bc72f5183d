-- Where the gateways of the other servers pass on requests for the embedded services of this one, as host:port.
ALTER TABLE nodes ADD COLUMN relay TEXT;
