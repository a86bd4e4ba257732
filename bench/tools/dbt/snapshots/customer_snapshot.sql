{# The snapshot of what was delivered, by the time it speaks of. #}
{% snapshot customer_snapshot %}
{{ config(target_schema='main', unique_key='customer_id', strategy='timestamp', updated_at='applied') }}
select * from main.delivered
{% endsnapshot %}
