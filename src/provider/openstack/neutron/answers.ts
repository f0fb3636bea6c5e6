import * as z from 'zod'

const tags = z
  .array(z.string())
  .nullish()
  .transform((value) => value ?? [])
const textOrNone = z
  .string()
  .nullish()
  .transform((value) => value ?? '')

/** A floating IP in an answer of Neutron. Fields that this library does not use are kept. */
export const FLOATING_IP = z.looseObject({
  id: z.string().min(1),
  floating_ip_address: z.string(),
  floating_network_id: z.string(),
  description: textOrNone,
  port_id: textOrNone,
  tags,
  revision_number: z.number().optional(),
  /** Port forwardings of the address. */
  port_forwardings: z.array(z.unknown()).nullish(),
})
export type AnsweredFloatingIP = z.infer<typeof FLOATING_IP>

export const ONE_FLOATING_IP = z.looseObject({ floatingip: FLOATING_IP })

export const NETWORK = z.looseObject({
  id: z.string().min(1),
  name: textOrNone,
  tags,
  'router:external': z.boolean().optional(),
})

export const SUBNET = z.looseObject({ id: z.string(), cidr: z.string() })

export const PORT = z.looseObject({
  id: z.string().min(1),
  device_id: textOrNone,
  network_id: textOrNone,
  fixed_ips: z.array(z.looseObject({ subnet_id: z.string(), ip_address: z.string() })).default([]),
})

export const ROUTER = z.looseObject({
  id: z.string().min(1),
  external_gateway_info: z.looseObject({ network_id: z.string() }).nullish(),
})
