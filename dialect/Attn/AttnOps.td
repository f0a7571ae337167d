// dialect/Attn/AttnOps.td - every op of the dialect `attn`
include "dialect/Attn/AttnTypes.td"
include "dialect/Attn/SpecOps.td"
include "dialect/Attn/MaskOps.td"
include "dialect/Attn/PairOps.td"
include "dialect/Attn/TensorOps.td"
